"""Read the sizes and locations that come with the project, for those who have no Azure account.

They are in ``data/bundled/azure``: the answers themselves (gzip), and ``pages.json`` with the
address, date and source of each.
"""

import gzip
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hwprices.errors import HwpricesError
from hwprices.providers.azure import kinds
from hwprices.providers.azure.inventory.regions import is_public_location
from hwprices.specs import data_directory


@dataclass(frozen=True)
class BundledPage:
    """One answer: its content, where it came from and the day it stands for."""

    kind: str
    content: bytes
    url: str
    retrieved_at: datetime
    params: dict[str, str]


def directory() -> Path:
    """Return the folder of Azure's bundled pages."""
    return data_directory() / "bundled" / "azure"


def read_pages(kind: str) -> list[BundledPage]:
    """Read the bundled pages of one kind, none where this installation has none.

    Raises:
        HwpricesError: ``pages.json`` or a page that it names is damaged.
    """
    index = directory() / "pages.json"
    if not index.is_file():
        return []
    try:
        entries = json.loads(index.read_text(encoding="utf-8"))["pages"]
        return [_page(index.parent, entry) for entry in entries if entry["kind"] == kind]
    except (ValueError, KeyError, OSError, EOFError) as error:
        raise HwpricesError(
            f"the bundled pages in {index.parent} are damaged ({error!r})", "Reinstall hwprices."
        ) from None


def regions() -> list[str]:
    """List the public regions of the bundled locations, sorted."""
    locations = [
        location
        for page in read_pages(kinds.LOCATIONS)
        for location in json.loads(page.content)["value"]
    ]
    return sorted({v["name"].lower() for v in locations if is_public_location(v)})


def _page(folder: Path, entry: dict[str, Any]) -> BundledPage:
    return BundledPage(
        kind=entry["kind"],
        content=gzip.decompress((folder / entry["file"]).read_bytes()),
        url=entry["url"],
        retrieved_at=datetime.fromisoformat(entry["retrieved_at"]),
        params=entry["params"],
    )
