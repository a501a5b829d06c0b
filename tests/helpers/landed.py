"""List the landed pages in a folder."""

from pathlib import Path

from hwprices.storage import layout


def landed_pages(folder: Path) -> list[Path]:
    """List the pages anywhere below a folder, however they are packed; none without a folder."""
    return [path for path in sorted(folder.rglob("*")) if layout.is_page(path.name)]
