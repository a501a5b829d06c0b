"""Read the responses of vendors' SDKs within limits.

The SDKs read a body whole, however long it is and however slowly it comes. Here it is read before
they do, piece by piece; they then find it already read.
"""

from typing import Any

from hwprices.errors import FetchError
from hwprices.landing.limits import MAX_LIST_BYTES, MAX_READ_BYTES, SDK_CHUNK, Limits, PageLimits


def read_body(raw: Any, page: PageLimits, *, decompress: bool) -> bytes:
    """Read the body of a urllib3 response that nobody has read yet.

    Raises:
        FetchError: a limit is passed.
        urllib3.exceptions.HTTPError: the connection breaks or stalls, or the body is damaged.
    """
    body = bytearray()
    try:
        while piece := raw.read1(SDK_CHUNK, decode_content=decompress):
            body += piece
            page.check(len(body), len(body))
    except FetchError:
        raw.close()
        raise
    finally:
        page.unit.add_bytes(len(body))
    return bytes(body)


def bound_requests(session: Any, limits: Limits, name: str) -> None:
    """Make a session of requests read every body within limits, and all together.

    Its bodies are those of one list, whose pages are kept until the last one has come.
    """
    kept = 0

    def receive(response: Any, **_: Any) -> None:
        nonlocal kept
        if response._content is not False:  # it has been read already
            return
        page = limits.page(name, min(MAX_READ_BYTES, MAX_LIST_BYTES - kept))
        response._content = _read_as_requests(response.raw, page)
        response._content_consumed = True
        kept += len(response._content)

    session.hooks["response"].insert(0, receive)


def _read_as_requests(raw: Any, page: PageLimits) -> bytes:
    """Read a body; failures are raised as requests raises them."""
    import requests
    import urllib3.exceptions as broken

    try:
        return read_body(raw, page, decompress=True)
    except broken.ReadTimeoutError as error:
        raise requests.ReadTimeout(error) from None
    except broken.DecodeError as error:
        raise requests.exceptions.ContentDecodingError(error) from None
    except broken.HTTPError as error:
        raise requests.exceptions.ChunkedEncodingError(error) from None


class BoundedBotoSession:
    """botocore's HTTP session, whose bodies are read within limits."""

    def __init__(self, session: Any, limits: Limits, name: str) -> None:
        self._session, self._limits, self._name = session, limits, name

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def send(self, request: Any) -> Any:
        """Send a request; returns the response with its body read.

        Raises:
            FetchError: a limit is passed.
            botocore.exceptions.HTTPClientError: the connection breaks or stalls.
        """
        import urllib3.exceptions as broken
        from botocore import exceptions

        url = request.url
        request.stream_output = True  # else the session reads the body whole
        response = self._session.send(request)
        page = self._limits.page(self._name, MAX_READ_BYTES)
        try:
            response._content = read_body(response.raw, page, decompress=False)
        except broken.ReadTimeoutError as error:
            raise exceptions.ReadTimeoutError(endpoint_url=url, error=error) from None
        except broken.HTTPError as error:
            raise exceptions.ConnectionClosedError(
                endpoint_url=url, request=request, error=error
            ) from None
        return response
