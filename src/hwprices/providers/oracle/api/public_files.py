"""Download Oracle's public JSON files and check that each is a list of something.

There are no pages and no account: one request gives one whole file.
"""

from collections.abc import Mapping
from pathlib import Path

from hwprices.landing.json_bodies import read_object
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.storage.scratch import scratch_directory


def land_list(context: Context, unit: Unit, url: str, params: Mapping[str, str]) -> Page:
    """Land one file, an object with a list ``items`` that is not empty.

    Raises:
        FetchError: it cannot be had, or is something else.
    """
    with scratch_directory() as folder:
        path = Path(folder) / "body"
        body = context.http.download(url, path, params=params, max_bytes=MAX_READ_BYTES)
        read_object(body, "items")
        return context.landing.land(unit, body, suffix="json")
