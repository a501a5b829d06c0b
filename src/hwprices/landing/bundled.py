"""Land the bundled pages of a provider: answers for those who have no account with it.

They are in ``data/bundled/<provider>``: the answers themselves (gzip), and ``pages.json`` with the
address, date and source of each.
"""

import gzip
import json
import zlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Page, Unit
from hwprices.specs import data_directory


@dataclass(frozen=True)
class BundledPage:
    """One answer: its content, where it came from and the day it represents."""

    kind: str
    content: bytes
    url: str
    retrieved_at: datetime
    params: dict[str, str]


def directory(provider: str) -> Path:
    """Return the folder of a provider's bundled pages."""
    return data_directory() / "bundled" / provider


def read_pages(provider: str, kind: str) -> list[BundledPage]:
    """Read the bundled pages of one kind, none where this installation has none.

    Raises:
        HwpricesError: ``pages.json`` or a page that it names is damaged or missing.
    """
    index = directory(provider) / "pages.json"
    if not index.is_file():
        return []
    try:
        entries = json.loads(index.read_text(encoding="utf-8"))["pages"]
        return [_page(index.parent, entry) for entry in entries if entry["kind"] == kind]
    except (ValueError, KeyError, TypeError, OSError, EOFError, zlib.error) as error:
        raise HwpricesError(
            f"the bundled pages in {index.parent} are damaged ({error!r})", "Reinstall hwprices."
        ) from None


def land_pages(landing: Landing, unit: Unit) -> list[Page]:
    """Land the bundled pages of a unit's kind with the address and date they have there.

    Returns none where this installation has none.
    """
    return [
        landing.land_bytes(
            unit,
            page.content,
            url=page.url,
            retrieved_at=page.retrieved_at,
            params={**unit.params, **page.params},
        )
        for page in read_pages(unit.provider, unit.kind)
    ]


def _page(folder: Path, entry: dict[str, Any]) -> BundledPage:
    return BundledPage(
        kind=entry["kind"],
        content=gzip.decompress((folder / entry["file"]).read_bytes()),
        url=entry["url"],
        retrieved_at=datetime.fromisoformat(entry["retrieved_at"]),
        params=entry["params"],
    )
