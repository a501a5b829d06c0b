"""Download Oracle's public JSON files and check that each is a list of something.

There are no pages and no account: one request gives one whole file. What is checked here keeps a
changed format, an error page or an empty list from replacing the last good page.
"""

import gzip
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hwprices.errors import FetchError
from hwprices.landing import strict_json
from hwprices.landing.download import Downloaded, public_url
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context


def land_list(context: Context, unit: Unit, url: str, params: Mapping[str, str]) -> Page:
    """Land one file, an object with a list ``items`` that is not empty.

    Raises:
        FetchError: it cannot be had, or is something else.
    """
    with tempfile.TemporaryDirectory(prefix="hwprices-") as folder:
        path = Path(folder) / "body"
        body = context.http.download(url, path, params=params, max_bytes=MAX_READ_BYTES)
        _check(body)
        return context.landing.land(unit, body, suffix="json")


def _check(body: Downloaded) -> None:
    raw = body.path.read_bytes()
    try:
        content = strict_json.loads(gzip.decompress(raw) if body.encoding == "gzip" else raw)
    except ValueError as error:
        raise _other_format(body, f"is not JSON ({error})") from None
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, list) or not items:
        raise _other_format(body, "has no list of items")


def _other_format(body: Downloaded, problem: str) -> FetchError:
    return FetchError(
        f"{public_url(body.url)} {problem}",
        "Oracle's format has changed, or the endpoint setting is wrong.",
    )
