"""Call Google's generated clients over REST and keep the bytes that they received.

Every call has a timeout and is retried under the common policy. No credential is sent over plain
http or written into a URL or an error.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from pydantic import SecretStr

from hwprices.landing import limits
from hwprices.landing.bodies import bound_requests
from hwprices.landing.download import FetchError, check_endpoint, public_url, redact
from hwprices.landing.limits import Limits
from hwprices.providers import Context
from hwprices.providers.gcp import Settings
from hwprices.settings import is_loopback

RETRIED_STATUSES = limits.RETRIED - {403}
"""Statuses of https://cloud.google.com/apis/design/errors#error_retries and of proxies. Google
answers 403 to a wrong key, which another try does not fix."""

EXPECTED_WARNINGS = {"NO_RESULTS_ON_PAGE"}
"""Warnings of a scope in an aggregated list that are not gaps: it is empty, or on another page."""

ENVELOPE = {"kind", "id", "selfLink", "etag", "nextPageToken", "unreachables", "warning"}
"""Members of a response besides the list, which is absent if it is empty."""

MAX_PAGES = 1000
"""Limit of pages of one list. The SKUs of Compute Engine (40,000) take about 10 pages and the
machine types of all zones (36,000) about 75, so a longer list has no end."""

ERROR_CHARACTERS = 300  # Length of Google's message in an error; some messages are HTML pages

PageCall = Callable[[Any, str, float], str]
"""One request for a page: (client, page token, timeout in seconds) → next page token, or ""."""


class ClientClass(Protocol):
    """One of Google's generated clients."""

    def __call__(self, *, transport: str, client_options: dict[str, str], credentials: Any) -> Any:
        """Make a client."""


class IncompleteError(Exception):
    """The server says that its response has gaps."""


@dataclass
class _Response:
    """The response that the client's session received last."""

    body: bytes = b""
    url: str = ""
    retry_after: str = ""

    def keep(self, response: Any, **_: Any) -> None:
        """Keep a response; the session calls it as a hook."""
        self.body, self.url = response.content, public_url(response.url)
        self.retry_after = response.headers.get("Retry-After", "")

    def clear(self) -> None:
        self.body, self.url, self.retry_after = b"", "", ""


@dataclass(frozen=True)
class ReceivedPage:
    """One page of a list: the bytes as received, and the URL without secrets."""

    body: bytes
    url: str


class GoogleClient:
    """One of Google's clients on one endpoint."""

    def __init__(
        self,
        client: Any,
        endpoint: str,
        settings: Settings,
        sleep: Callable[[float], None],
        limits: Limits,
        secret: str = "",
    ) -> None:
        """Watch the client's responses.

        ``client``: a generated client with the REST transport. ``endpoint``: its URL, for errors.
        ``secret``: the API key, which errors leave out.
        """
        self._client, self._endpoint, self._settings = client, public_url(endpoint), settings
        self._sleep, self._secret, self._limits = sleep, secret, limits
        self._tries = 0
        self._response = _Response()
        session = client.transport._session
        # The session would follow a redirect to any host and send the key along.
        session.max_redirects = 0
        session.hooks["response"].append(self._response.keep)
        bound_requests(session, limits, self._endpoint)

    def all_pages(self, call: PageCall, member: str) -> list[ReceivedPage]:
        """Read all pages of a list; ``member`` is its name in the responses.

        Raises:
            FetchError: a page is refused or fails in every try, a page token is repeated, or the
                list has more than MAX_PAGES pages; names the endpoint.
        """
        pages: list[ReceivedPage] = []
        tokens = {""}
        token = ""
        while len(pages) < MAX_PAGES:
            token = self._next_token(call, token, member)
            pages.append(ReceivedPage(self._response.body, self._response.url))
            if not token:
                return pages
            if token in tokens:
                raise FetchError(
                    f"{self._endpoint} repeats a page token: its list has no end",
                    "Try again later.",
                )
            tokens.add(token)
        raise FetchError(
            f"{self._endpoint} returned a list of more than {MAX_PAGES} pages",
            "Try again later; if the list has grown, raise MAX_PAGES in google_apis.py.",
        )

    def _next_token(self, call: PageCall, token: str, member: str) -> str:
        """Make one call with retries; return the token of the page after it."""
        self._tries = 0

        def once() -> str:
            self._tries += 1
            self._response.clear()
            following = call(self._client, token, self._settings.read_timeout)
            _check_list(self._response.body, member, is_first=not token)
            _check_scopes(self._response.body)
            return following

        try:
            return limits.call(
                once,
                settings=self._settings,
                sleep=self._sleep,
                decide=self._decide,
                limits=self._limits,
            )
        except _failures() as error:
            raise self._fetch_error(error) from None

    def _decide(self, error: BaseException) -> limits.TryAgain | None:
        import requests

        if not _may_pass(error):
            return None
        retry_after = limits.parse_retry_after(self._response.retry_after)
        return limits.TryAgain(retry_after, is_stall=isinstance(error, requests.Timeout))

    def _fetch_error(self, error: Exception) -> FetchError:
        """Describe a failure in one line, without the key."""
        words = " ".join(str(error)[: 10 * ERROR_CHARACTERS].split())
        if self._secret:
            words = words.replace(self._secret, "(key)")
        words = redact(words)[:ERROR_CHARACTERS]
        tries = "failed: "
        if _may_pass(error):
            tries = f"failed {self._tries} times, last: "
        what = f"{self._endpoint} {tries}{type(error).__name__} {words}"
        return FetchError(what, _remedy(error))


def _check_list(body: bytes, member: str, *, is_first: bool) -> None:
    """Refuse a response that is not a page of a list, which Google's clients read as empty."""
    if b'"%s"' % member.encode() in body:
        return
    response = json.loads(body)
    others = set(response) - ENVELOPE if isinstance(response, dict) else {"no object"}
    if others or not (is_first or response):
        raise IncompleteError(f"the response has no {member}")


def _check_scopes(body: bytes) -> None:
    """Refuse an aggregated list with unreachable zones, which is incomplete."""
    if b'"unreachables"' not in body and b'"warning"' not in body:
        return
    response = json.loads(body)
    gaps = list(response.get("unreachables") or ())
    items = response.get("items")
    for scope, listed in (items if isinstance(items, dict) else {}).items():
        code = (listed.get("warning") or {}).get("code")
        if code and code not in EXPECTED_WARNINGS:
            gaps.append(f"{scope} ({code})")
    if gaps:
        raise IncompleteError(f"the list has gaps: {', '.join(gaps[:5])}")


def _failures() -> tuple[type[Exception], ...]:
    """Return the exceptions of a call that have a cause outside this program."""
    import requests
    from google.api_core.exceptions import GoogleAPIError
    from google.auth.exceptions import GoogleAuthError
    from google.protobuf.json_format import ParseError

    return (
        requests.RequestException,
        GoogleAPIError,
        GoogleAuthError,
        ParseError,
        IncompleteError,
        RecursionError,
        ValueError,
        AttributeError,  # of the SDK, if an error is a text: {"error": "no such page"}
    )


def _may_pass(error: BaseException) -> bool:
    """Check whether another try may succeed: busy servers, cut bodies, silent connections."""
    import requests
    from google.api_core.exceptions import GoogleAPICallError

    if isinstance(error, GoogleAPICallError):
        return error.code is not None and int(error.code) in RETRIED_STATUSES
    return isinstance(error, _failures()) and not isinstance(error, requests.TooManyRedirects)


def _remedy(error: Exception) -> str:
    code = int(getattr(error, "code", 0) or 0)
    if code in (400, 401, 403):
        return (
            "Check HWPRICES_GCP_API_KEY, or the application default credentials"
            " and their permissions."
        )
    if code == 404:
        return "Check the endpoint and HWPRICES_GCP_PROJECT."
    return "Try again later, or check the endpoint setting."


def connect(
    client_class: ClientClass, context: Context, url: str, *, key: SecretStr | None = None
) -> GoogleClient:
    """Make a client on an endpoint.

    It gets the API key if there is one, else application default credentials. Over plain http,
    which is only allowed on loopback, it gets neither.

    Raises:
        FetchError: the endpoint is not allowed, or credentials are missing.
    """
    check_endpoint(url)
    options = {"api_endpoint": url.removeprefix("https://")}
    secret = ""
    credentials: Any = None
    if urlsplit(url).scheme == "http" and is_loopback(url):
        from google.auth.credentials import AnonymousCredentials

        credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]
    elif key is not None:
        secret = key.get_secret_value()
        options["api_key"] = secret
    else:
        credentials = _application_default_credentials(url)
    client = client_class(transport="rest", client_options=options, credentials=credentials)
    return GoogleClient(
        client, url, context.settings, context.http.sleep, context.http.limits(), secret
    )


NOT_CONFIGURED = "default credentials were not found"
"""Part of google-auth's message if no credentials are configured. The message differs if they are
configured but unreadable."""


def has_credentials(url: str, key: SecretStr | None) -> bool:
    """Check whether an API key or application default credentials are configured, right or wrong.

    An endpoint on loopback needs none.
    """
    import google.auth
    from google.auth.exceptions import GoogleAuthError

    if key is not None or (urlsplit(url).scheme == "http" and is_loopback(url)):
        return True
    try:
        google.auth.default()
    except GoogleAuthError as error:
        return NOT_CONFIGURED not in str(error)
    return True


def _application_default_credentials(url: str) -> Any:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    scopes = ["https://www.googleapis.com/auth/cloud-platform"]
    try:
        credentials, _ = google.auth.default(scopes=scopes)
    except DefaultCredentialsError:
        raise FetchError(
            f"no credentials for {public_url(url)}",
            "Set HWPRICES_GCP_API_KEY (prices), "
            "or run: gcloud auth application-default login (machine types).",
        ) from None
    return credentials
