"""Google's clients over REST, with what they received: the body of every page, retries, and no credential where it must not go."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

import tenacity
from pydantic import SecretStr

from hwprices.landing.download import FetchError, check_endpoint, public_url
from hwprices.providers import Context
from hwprices.providers.gcp.settings import Settings
from hwprices.settings import is_loopback

RETRIED = {408, 429, 500, 502, 503, 504}
"""https://cloud.google.com/apis/design/errors#error_retries, and what proxies in front of it answer."""

EXPECTED_WARNINGS = {"NO_RESULTS_ON_PAGE"}
"""Warnings of a scope in an aggregated list that are no gap: there is nothing there, or it is on another page."""


class ClientClass(Protocol):
    """One of Google's generated clients."""

    def __call__(self, *, transport: str, client_options: dict[str, str], credentials: Any) -> Any:
        """Make a client."""


@dataclass
class _Kept:
    """What the session received last."""

    body: bytes = b""
    url: str = ""
    retry_after: str = ""

    def hook(self, response: Any, **_: Any) -> None:
        self.body, self.url = response.content, public_url(response.url)
        self.retry_after = response.headers.get("Retry-After", "")


@dataclass
class Wire:
    """One client on one endpoint. ``page`` makes one call with retries and gives what came over the wire."""

    client: Any
    endpoint: str
    settings: Settings
    sleep: Callable[[float], None]
    secret: str = ""
    _kept: _Kept = field(default_factory=_Kept)

    def __post_init__(self) -> None:
        session = self.client.transport._session
        # The client's session would follow a redirect and take the key along to wherever it leads.
        session.max_redirects = 0
        session.hooks["response"].append(self._kept.hook)

    def page(self, call: Callable[[Any, str, float], str], token: str) -> tuple[bytes, str, str]:
        """(body, URL without secrets, token of the next page).

        Raises:
            FetchError: refused, or failed in every try; names the endpoint and the last failure.
        """
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.settings.attempts),
            wait=self._wait,
            retry=tenacity.retry_if_exception(_passes),
            sleep=self.sleep,
            reraise=True,
        )
        try:
            following = retrying(self._once, call, token)
        except _failures() as error:
            raise self._failed(error) from None
        return self._kept.body, self._kept.url, following

    def _once(self, call: Callable[[Any, str, float], str], token: str) -> str:
        self._kept.body, self._kept.url, self._kept.retry_after = b"", "", ""
        following = call(self.client, token, self.settings.read_timeout)
        _check_scopes(self._kept.body)
        return following

    def _wait(self, state: tenacity.RetryCallState) -> float:
        asked = self._kept.retry_after.strip()
        if asked.isdigit():
            return min(float(asked), self.settings.max_retry_after)
        return float(
            (tenacity.wait_exponential(multiplier=0.5, max=20) + tenacity.wait_random(0, 0.5))(
                state
            )
        )

    def _failed(self, error: Exception) -> FetchError:
        """One line. The key is in a header and in no URL; should an error ever quote it, it is blotted out."""
        words = " ".join(str(error).split())[:300]
        if self.secret:
            words = words.replace(self.secret, "(key)")
        tries = f"failed {self.settings.attempts} times, last: " if _passes(error) else "failed: "
        return FetchError(f"{self.endpoint} {tries}{type(error).__name__} {words}", _remedy(error))


class IncompleteError(Exception):
    """The server says itself that its answer has gaps."""


def _check_scopes(body: bytes) -> None:
    """An aggregated list may come with zones that could not be reached; half a list must not pass for a whole one."""
    if b'"unreachables"' not in body and b'"warning"' not in body:
        return
    answer = json.loads(body)
    gaps = list(answer.get("unreachables") or ())
    items = answer.get("items")
    for scope, listed in (items if isinstance(items, dict) else {}).items():
        code = (listed.get("warning") or {}).get("code")
        if code and code not in EXPECTED_WARNINGS:
            gaps.append(f"{scope} ({code})")
    if gaps:
        raise IncompleteError(f"the list has gaps: {', '.join(gaps[:5])}")


def _failures() -> tuple[type[Exception], ...]:
    """What a call may raise for reasons that lie outside this program."""
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
        ValueError,
    )


def _passes(error: BaseException) -> bool:
    """Whether the next try may go better: busy or broken servers, cut or garbled bodies, silent connections."""
    import requests
    from google.api_core.exceptions import GoogleAPICallError

    if isinstance(error, GoogleAPICallError):
        return error.code is not None and int(error.code) in RETRIED
    return isinstance(error, _failures()) and not isinstance(error, requests.TooManyRedirects)


def _remedy(error: Exception) -> str:
    code = int(getattr(error, "code", 0) or 0)
    if code in (400, 401, 403):
        return "Check HWPRICES_GCP_API_KEY, or the application default credentials and their permissions."
    if code == 404:
        return "Check the endpoint and HWPRICES_GCP_PROJECT."
    return "Try again later, or check the endpoint setting."


def connect(
    client_class: ClientClass, context: Context, url: str, *, key: SecretStr | None = None
) -> Wire:
    """A client on an endpoint: the API key where there is one, else application default credentials; on loopback neither.

    Raises:
        FetchError: the endpoint is not one to talk to, or there are no credentials.
    """
    check_endpoint(url)
    if urlsplit(url).scheme == "http" and is_loopback(url):
        from google.auth.credentials import AnonymousCredentials

        client = client_class(
            transport="rest",
            client_options={"api_endpoint": url},
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
        )
        return Wire(client, url, context.settings, context.http.sleep)
    host = url.removeprefix("https://")
    if key is not None:
        secret = key.get_secret_value()
        client = client_class(
            transport="rest",
            client_options={"api_endpoint": host, "api_key": secret},
            credentials=None,
        )
        return Wire(client, url, context.settings, context.http.sleep, secret)
    client = client_class(
        transport="rest",
        client_options={"api_endpoint": host},
        credentials=_application_default(url),
    )
    return Wire(client, url, context.settings, context.http.sleep)


def _application_default(url: str) -> Any:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        credentials, _ = google.auth.default(
            scopes=["https://www.googleapis.com/auth/cloud-platform"]
        )
    except DefaultCredentialsError:
        raise FetchError(
            f"no credentials for {url}",
            "Set HWPRICES_GCP_API_KEY (prices), or run: gcloud auth application-default login (machine types).",
        ) from None
    return credentials
