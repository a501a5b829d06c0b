"""Download pages completely, or fail with one clear line.

The body goes to a file as the server sent it. It is accepted only if its length is the one
announced, a gzip body ends with its trailer, and its type is the expected one. 429, 5xx and
connections that break or stall are tried again (``landing.retry``).
"""

import gzip
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

import httpx

from hwprices.errors import HwpricesError
from hwprices.landing import retry
from hwprices.settings import Settings, is_loopback

Expect = Literal["json", "csv", "any"]

CHUNK = 1 << 20

SECRET_PARAMETERS = {
    "key",
    "access_token",
    "sig",
    "token",
    "x-amz-security-token",
    "x-amz-signature",
    "x-amz-credential",
}


@dataclass(frozen=True)
class Downloaded:
    """A body on disk as the server sent it, and what the response said about it."""

    path: Path
    encoding: Literal["identity", "gzip"]
    url: str
    params: Mapping[str, str]
    status: int
    content_type: str
    retrieved_at: datetime


class FetchError(HwpricesError):
    """A page could not be downloaded, after all tries."""


class _TryAgain(Exception):
    """This try failed, and another one may succeed."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


def _decide(error: BaseException) -> retry.TryAgain | None:
    return retry.TryAgain(error.retry_after) if isinstance(error, _TryAgain) else None


def public_url(url: str) -> str:
    """Return the URL without user, password and secret parameters, to be logged and landed."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    netloc = f"{host}:{parts.port}" if parts.port else host
    query = "&".join(
        p for p in parts.query.split("&") if p and p.split("=")[0].lower() not in SECRET_PARAMETERS
    )
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def check_endpoint(url: str, *, credentials: bool = False) -> None:
    """Refuse plain http to another machine, and credentials over plain http to any.

    Raises:
        FetchError: nothing may be sent to this URL.
    """
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


def check_same_host(first: str, following: str) -> None:
    """Refuse a next-page link that leaves the host, port or scheme of the first page.

    Raises:
        FetchError: it does.
    """
    if _origin(first) != _origin(following):
        raise FetchError(
            f"the next page of {public_url(first)} is on another host: {public_url(following)}",
            "It is not followed. Report it if the vendor has really moved.",
        )


def _origin(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of a URL."""
    parts = urlsplit(url)
    default = {"https": 443, "http": 80}
    return parts.scheme, parts.hostname, parts.port or default.get(parts.scheme)


class Http:
    """The pipeline's one HTTP client. ``sleep`` and ``now`` are arguments for the tests."""

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
        timeout = httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout)
        self._client = httpx.Client(
            timeout=timeout,
            follow_redirects=False,
            headers={"User-Agent": "hwprices", "Accept-Encoding": "gzip"},
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def download(
        self,
        url: str,
        into: Path,
        *,
        params: Mapping[str, str] | None = None,
        expect: Expect = "json",
    ) -> Downloaded:
        """Fetch one page into a file.

        Raises:
            FetchError: after all tries; names the endpoint (without secrets) and the last failure.
        """
        check_endpoint(url)
        try:
            return retry.call(
                lambda: self._once(url, into, dict(params or {}), expect),
                settings=self.settings,
                sleep=self.sleep,
                decide=_decide,
            )
        except _TryAgain as error:
            times = "once" if self.settings.attempts == 1 else f"{self.settings.attempts} times"
            raise FetchError(
                f"{public_url(url)} failed {times}, last: {error}",
                "Try again later, or check the endpoint setting.",
            ) from error

    def _once(self, url: str, into: Path, params: dict[str, str], expect: Expect) -> Downloaded:
        """Try once.

        Raises:
            _TryAgain: it failed in a way that may pass.
            FetchError: it failed for good.
        """
        try:
            with self._client.stream("GET", url, params=params or None) as response:
                _check_status(response)
                encoding = _encoding(response)
                _check_type(response, expect)
                with into.open("wb") as file:
                    for chunk in response.iter_raw():
                        file.write(chunk)
                _check_complete(response, into, encoding)
        except httpx.HTTPError as error:
            raise _TryAgain(f"{type(error).__name__} {error}".strip()) from None
        return Downloaded(
            path=into,
            encoding=encoding,
            url=public_url(url),
            params={k: v for k, v in params.items() if k.lower() not in SECRET_PARAMETERS},
            status=response.status_code,
            content_type=_content_type(response).split(";")[0].strip(),
            retrieved_at=self.now(),
        )


def _check_status(response: httpx.Response) -> None:
    status = response.status_code
    if status == 200:
        return
    url = public_url(str(response.request.url))
    if status in retry.RETRIED_STATUSES:
        header = response.headers.get("retry-after", "")
        raise _TryAgain(f"HTTP {status}", retry.parse_retry_after(header))
    if 300 <= status < 400:
        target = public_url(response.headers.get("location", "nowhere"))
        raise FetchError(
            f"{url} answers HTTP {status} to {target}",
            "Redirects are not followed: set the endpoint to the new address.",
        )
    response.read()
    raise FetchError(
        f"{url} answers HTTP {status}: {' '.join(response.text.split())[:200]}",
        "Check the endpoint setting.",
    )


def _encoding(response: httpx.Response) -> Literal["identity", "gzip"]:
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return "identity"
    if encoding == "gzip":
        return "gzip"
    raise _TryAgain(f"Content-Encoding {encoding}, which was not asked for")


def _check_type(response: httpx.Response, expect: Expect) -> None:
    if expect != "any" and "html" in _content_type(response):
        raise _TryAgain(f"HTML came instead of {expect.upper()}")


def _content_type(response: httpx.Response) -> str:
    header: str = response.headers.get("content-type", "")
    return header.lower()


def _check_complete(response: httpx.Response, path: Path, encoding: str) -> None:
    """Compare the body with the length announced; read a gzip body to its trailer."""
    announced = response.headers.get("content-length")
    received = path.stat().st_size
    if announced is not None and int(announced) != received:
        raise _TryAgain(f"{received} of {announced} bytes came")
    chunked = response.headers.get("transfer-encoding", "").lower() == "chunked"
    if announced is None and encoding == "identity" and not chunked:
        raise _TryAgain("the body has no length, so it cannot be known to be whole")
    if encoding == "gzip":
        try:
            check_gzip(path)
        except (EOFError, OSError, zlib.error) as error:
            raise _TryAgain(f"the gzip body is cut or damaged ({error})") from None


def check_gzip(path: Path) -> None:
    """Read a gzip file to its end: a body cut short ends before its trailer.

    Raises:
        EOFError, OSError (BadGzipFile), zlib.error: it is cut or damaged.
    """
    with gzip.open(path) as plain:
        while plain.read(CHUNK):
            pass
