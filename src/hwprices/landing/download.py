"""Download pages completely, or fail with one clear line.

The body is written to a file as it arrives: a gzip body unchanged, any other compressed with zstd.
It is hashed and checked in the same pass: its length must be the announced one, a gzip body must
end with its trailer, and the type must be the expected one. Errors that may go away are retried,
and time and size are limited (``landing.limits``). A refused page leaves no file behind.
"""

import copy
import logging
import os
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import unquote_plus, urlsplit, urlunsplit

import httpcore
import httpx

from hwprices.errors import FetchError
from hwprices.landing.limits import (
    RETRIED,
    DamagedGzipError,
    Gunzip,
    Limits,
    PageLimits,
    TryAgain,
    call,
    parse_retry_after,
)
from hwprices.settings import Settings, is_loopback
from hwprices.storage.packed import PackedFile, Writer

_page: ContextVar[PageLimits | None] = ContextVar("page", default=None)


@contextmanager
def reading(page: PageLimits) -> Iterator[None]:
    """Apply the limits of a page to everything this thread reads from the network."""
    token = _page.set(page)
    try:
        yield
    finally:
        _page.reset(token)


def bound_reads(client: httpx.Client) -> None:
    """Apply the limits of ``reading`` to all connections of a client, direct or through a proxy."""
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            pool = transport._pool
            pool._network_backend = _Backend(pool._network_backend)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        return _Stream(self._backend.connect_tcp(*args, **kwargs))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        page = _page.get()
        if page is not None:
            page.check(0, 0)
        return self._stream.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(*args, **kwargs))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


__all__ = [
    "Downloaded",
    "Expect",
    "FetchError",
    "Http",
    "check_endpoint",
    "check_same_host",
    "public_url",
]

_AUTHORITY = re.compile(r"[\w.-]*(:\d*)?|\[[0-9a-f:.]+\](:\d*)?", re.ASCII | re.IGNORECASE)
"""Host and port of a link; empty for a path. With a user or a backslash, as in
``https://other\\@host/``, an SDK might send the credential to another host than the one checked."""

MAX_QUOTE = 200  # Characters of a server's text in an error. A header may have 100 kB.

MAX_REDACTED = 10_000
"""Characters that are searched for secrets before a text is cut to MAX_QUOTE, so that no part of a
secret is left at the end of the quote."""

Expect = Literal["json", "csv", "any"]
Encoding = Literal["identity", "gzip"]


@dataclass(frozen=True)
class Downloaded:
    """A compressed body on disk, and the metadata of its response."""

    file: PackedFile
    url: str
    params: Mapping[str, str]
    status: int
    content_type: str
    retrieved_at: datetime

    def read(self) -> bytes:
        """Return the body's content, decompressed."""
        return self.file.read()


NO_HOST = "the name of the host is not found"
NO_HOST_REMEDY = (
    "Check this machine's network, DNS and proxy (HTTPS_PROXY), and the endpoint setting."
)


class _RetryError(Exception):
    """This try failed, but a retry may succeed."""

    def __init__(
        self,
        reason: str,
        decision: TryAgain | None = None,
        remedy: str = "Try again later, or check the endpoint setting.",
    ) -> None:
        super().__init__(reason)
        self.decision = decision or TryAgain()
        self.remedy = remedy


def _decide(error: BaseException) -> TryAgain | None:
    return error.decision if isinstance(error, _RetryError) else None


def check_endpoint(url: str, *, credentials: bool = False) -> None:
    """Refuse plain http to another machine, and credentials over plain http to any machine.

    Raises:
        FetchError: nothing may be sent to this URL, or it is not a URL.
    """
    if not _is_url(url):
        raise FetchError(
            f"{public_url(url)} is not a URL, or its port is not from 0 to 65535",
            "Check the endpoint setting.",
        )
    scheme = urlsplit(url).scheme
    if scheme == "https":
        return
    if scheme != "http" or not is_loopback(url):
        raise FetchError(
            f"{public_url(url)} is not https",
            "Plain http is used only to this machine (127.0.0.1, localhost).",
        )
    if credentials:
        raise FetchError(
            f"no credential is sent over plain http to {public_url(url)}",
            "Unset the credential, or use https.",
        )


def _is_url(text: str) -> bool:
    try:
        urlsplit(text).port  # noqa: B018 reading an invalid port raises
        httpx.URL(text)
    except (ValueError, httpx.InvalidURL):
        return False
    return True


def check_link(page: str, link: object) -> str:
    """Return a link found on a page as text; ``page`` is the URL of the page.

    Raises:
        FetchError: it is not a URL, or URL parsers could disagree about its host.
    """
    if isinstance(link, str) and _is_url(link) and _AUTHORITY.fullmatch(urlsplit(link).netloc):
        return link
    raise FetchError(
        f"{public_url(page)} gives a link that is not a URL: {redact(repr(link))[:100]}",
        "The vendor's format has changed, or the endpoint setting is wrong.",
    )


def check_same_host(first: str, following: str) -> None:
    """Refuse a next-page link that leaves the host, port or scheme of the first page.

    Raises:
        FetchError: it does, or it is not a URL.
    """
    check_link(first, following)
    if _origin(first) != _origin(following):
        other = _quoted(public_url(following))
        raise FetchError(
            f"the next page of {public_url(first)} is on another host: {other}",
            "It is not followed. Report it if the vendor has really moved.",
        )


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    default = {"https": 443, "http": 80}
    return parts.scheme, parts.hostname, parts.port or default.get(parts.scheme)


def client(*, headers: Mapping[str, str] | None = None, **options: Any) -> httpx.Client:
    """Make a client that follows no redirects and keeps no cookies.

    No vendor needs cookies, and a cookie that is not ASCII would break every later request.

    Raises:
        FetchError: the proxy of the environment cannot be used. Its URL may contain a password and
            is not quoted.
    """
    try:
        return httpx.Client(
            verify=_trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            headers={"User-Agent": "hwprices", **(headers or {})},
            **options,
        )
    except ImportError:
        raise FetchError(
            "a SOCKS proxy is set in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY",
            "pip install 'httpx[socks]', set an http:// proxy, or unset it.",
        ) from None
    except (ValueError, httpx.InvalidURL):
        raise FetchError(
            "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is not a proxy URL",
            "Write http://host:port, or unset it.",
        ) from None


@cache
def _trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Read the trusted certificates once for all clients, which saves 30 ms of CPU for each.

    ``file`` and ``folder`` are the cache's key: the variables that httpx reads.
    """
    return httpx.create_ssl_context()


class Http:
    """The pipeline's HTTP client. Tests replace ``sleep`` and ``now``."""

    def __init__(
        self,
        settings: Settings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.settings = settings
        self.sleep = sleep
        self.now = now
        self._unit_limits: Limits | None = None
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs URLs with all parameters
        timeout = httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout)
        self._client = client(
            timeout=timeout,
            headers={"Accept-Encoding": "gzip"},
            # A hook runs before httpx parses the address of a redirect, which may be invalid.
            event_hooks={"response": [_check_status]},
        )
        bound_reads(self._client)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def for_unit(self, name: str) -> Self:
        """Return a copy for one unit, with the same connections and limits that begin now."""
        client = copy.copy(self)
        client._unit_limits = Limits(self.settings, name)
        return client

    def limits(self) -> Limits:
        """Return the limits of the unit; without a unit, new ones on each call."""
        return self._unit_limits or Limits(self.settings)

    def download(
        self,
        url: str,
        into: Path,
        *,
        params: Mapping[str, str] | None = None,
        expect: Expect = "json",
        max_bytes: int | None = None,
        query: str = "",
    ) -> Downloaded:
        """Fetch one page into a file, with retries.

        Args:
            url: the endpoint.
            into: the file.
            params: the query parameters.
            expect: the expected format.
            max_bytes: a limit below the setting max_page_bytes.
            query: a GraphQL query, which is posted. It must only read, because it may be retried.

        Raises:
            FetchError: all tries failed, or a limit was exceeded; names the endpoint (without
                secrets) and the last failure.
        """
        check_endpoint(url)
        limits = self.limits()
        page = limits.page(public_url(url), max_bytes)
        tries = 0

        def once() -> Downloaded:
            nonlocal tries
            tries += 1
            return self._once(url, into, dict(params or {}), expect, page, query)

        try:
            return call(
                once, settings=self.settings, sleep=self.sleep, decide=_decide, limits=limits
            )
        except _RetryError as error:
            into.unlink(missing_ok=True)
            times = "once" if tries == 1 else f"{tries} times"
            raise FetchError(
                f"{public_url(url)} failed {times}, last: {error}", error.remedy
            ) from error
        except BaseException:
            into.unlink(missing_ok=True)
            raise

    def _once(
        self,
        url: str,
        into: Path,
        params: dict[str, str],
        expect: Expect,
        page: PageLimits,
        query: str,
    ) -> Downloaded:
        try:
            method, body = ("POST", {"query": query}) if query else ("GET", None)
            with (
                reading(page),
                self._client.stream(method, url, params=params or None, json=body) as response,
            ):
                encoding = _encoding(response)
                if expect != "any" and "html" in _content_type(response):
                    raise _RetryError(f"HTML came instead of {expect.upper()}")
                file = _receive(response, into, encoding, page)
        except httpx.HTTPError as error:
            cause = _first_cause(error)
            if isinstance(cause, socket.gaierror):
                at_most = 2 if cause.errno == socket.EAI_NONAME else None
                raise _RetryError(NO_HOST, TryAgain(at_most=at_most), NO_HOST_REMEDY) from None
            is_stall = isinstance(error, httpx.TimeoutException)
            reason = _quoted(f"{type(error).__name__} {error}")
            raise _RetryError(reason, TryAgain(is_stall=is_stall)) from None
        return Downloaded(
            file=file,
            url=public_url(url),
            params={k: v for k, v in params.items() if not is_secret_name(k)},
            status=response.status_code,
            content_type=_content_type(response).split(";")[0].strip(),
            retrieved_at=self.now(),
        )


def _first_cause(error: BaseException) -> BaseException:
    while error.__context__ and not isinstance(error, OSError):
        error = error.__context__
    return error


def _receive(
    response: httpx.Response, into: Path, encoding: Encoding, page: PageLimits
) -> PackedFile:
    """Write a body to a file as it arrives.

    A gzip body is also decompressed, to count its content and to find its trailer.
    """
    gunzip = Gunzip() if encoding == "gzip" else None
    received = content = 0
    with Writer(into, "gzip" if gunzip else "zstd") as writer:
        try:
            for chunk in response.iter_raw():
                received += len(chunk)
                page.check(received, content)
                for piece in gunzip.feed(chunk) if gunzip else (chunk,):
                    content += len(piece)
                    page.check(received, content)
                writer.write(chunk)
        except DamagedGzipError as error:
            raise _RetryError(f"the gzip body is damaged ({error})") from None
        finally:
            page.unit.add_bytes(content)
        _check_length(response, received, encoding)
        if gunzip and not gunzip.is_complete:
            raise _RetryError("the gzip body is truncated: it has no trailer")
        return writer.finish(content)


def _check_status(response: httpx.Response) -> None:
    status = response.status_code
    if status == 200:
        return
    url = public_url(str(response.request.url))
    if status in RETRIED:
        header = response.headers.get("retry-after", "")
        decision = TryAgain(parse_retry_after(header))
        raise _RetryError(f"HTTP {status}", decision)
    if 300 <= status < 400:
        target = _quoted(public_url(response.headers.get("location", "nowhere")))
        raise FetchError(
            f"{url} redirects with HTTP {status} to {target}",
            "Redirects are not followed: set the endpoint to the new address.",
        )
    raise FetchError(
        f"{url} returned HTTP {status}{_error_text(response)}", "Check the endpoint setting."
    )


def _encoding(response: httpx.Response) -> Encoding:
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return "identity"
    if encoding == "gzip":
        return "gzip"
    raise _RetryError(f"Content-Encoding {_quoted(encoding)}, which was not requested")


def _content_type(response: httpx.Response) -> str:
    header: str = response.headers.get("content-type", "")
    return header.lower()


def _error_text(response: httpx.Response) -> str:
    """Return the beginning of an error's body, which may be endless."""
    if response.headers.get("content-encoding"):
        return ""
    first = next(response.iter_raw(), b"")
    words = _quoted(first[:MAX_REDACTED].decode(errors="replace"))
    return f": {words}" if words else ""


def _quoted(words: str) -> str:
    """Return the beginning of a server's text on one line, without secrets."""
    return redact(" ".join(words[:MAX_REDACTED].split()))[:MAX_QUOTE]


def _check_length(response: httpx.Response, received: int, encoding: Encoding) -> None:
    announced = response.headers.get("content-length")
    if announced is not None and int(announced) != received:
        raise _RetryError(f"{received} of {announced} bytes came")
    chunked = response.headers.get("transfer-encoding", "").lower() == "chunked"
    if announced is None and encoding == "identity" and not chunked:
        raise _RetryError("the body has no length, so it may be incomplete")


REPLACEMENT = "(secret)"
MIN_LENGTH = 8  # Shorter values of variables may be common words such as "true"

_SECRET_VARIABLE = re.compile(
    r"SECRET|TOKEN|PASSW|API_?KEY|ACCESS_KEY|ACCOUNT_KEY|SAS|IDENTITY_HEADER"
)

_AFTER_SCHEME = re.compile(r"\b(bearer|basic|aws4-hmac-sha256|sharedkey)\s+[^\"'\s,;}]{4,}", re.I)

NAMES = (
    *("access-key", "access-token", "account-key", "api-key", "authorization"),
    *("aws-access-key-id", "aws-secret-access-key", "aws-session-token", "client-assertion"),
    *("client-secret", "credential", "google-access-id", "id-token", "key", "key-pair-id"),
    *("passwd", "password", "private-key", "pwd", "refresh-token", "secret"),
    *("secret-access-key", "secret-key", "session-token", "sig", "signature"),
    *("subscription-key", "token", "x-amz-credential", "x-amz-security-token"),
    *("x-amz-signature", "x-api-key", "x-goog-api-key"),
    *("x-goog-credential", "x-goog-signature"),
)
"""Names of headers, parameters and members whose value is a credential or identifies one. Case is
ignored, and a hyphen also matches an underscore or nothing."""

_NAME = "|".join(name.replace("-", "[-_]?") for name in NAMES)
_SECRET_NAME = re.compile(_NAME, re.I)

_AFTER_NAME = re.compile(
    rf"""(?ix)
    ( \b (?: {_NAME} ) ["']? \s* [:=] \s* ["']? )
    (?! \(secret\) | (?:bearer|basic|aws4-hmac-sha256|sharedkey)\s )
    [^"'\s&,;}}]{{4,}}
    """
)

_USERINFO = re.compile(r"(://)[^/@\s]+@")


def is_secret_name(name: str) -> bool:
    """Check whether a header or parameter of this name holds a credential."""
    return _SECRET_NAME.fullmatch(name) is not None


def public_url(url: str) -> str:
    """Remove user, password and secret parameters from a URL, so that it can be logged and landed.

    A URL that cannot be parsed may hold a secret anywhere, so nothing of it is returned.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(no URL)"
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(":")
    query = "&".join(
        p for p in parts.query.split("&") if p and not is_secret_name(unquote_plus(p.split("=")[0]))
    )
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def redact(text: str) -> str:
    """Replace everything that is or may be a credential."""
    for name, value in os.environ.items():
        if len(value) >= MIN_LENGTH and _SECRET_VARIABLE.search(name.upper()):
            text = text.replace(value, REPLACEMENT)
    text = _AFTER_SCHEME.sub(rf"\1 {REPLACEMENT}", text)
    text = _AFTER_NAME.sub(rf"\1{REPLACEMENT}", text)
    return _USERINFO.sub(rf"\1{REPLACEMENT}@", text)
