"""List the landed pages in a folder, and compare runs that are packed in different ways."""

import hashlib
from dataclasses import replace
from pathlib import Path

from hwprices.landing.pages import Landing, Page, Run
from hwprices.storage import layout


def landed_pages(folder: Path) -> list[Path]:
    """List the pages anywhere below a folder, however they are packed; none without a folder."""
    return [path for path in sorted(folder.rglob("*")) if layout.is_page(path.name)]


def run_by_content(root: Path, provider: str) -> Run:
    """Read the only run below ``root``, with the SHA-256 of each page's content as its key.

    What depends on the packing is left out: the stored file's name, digest and length. Every page
    below the root must be one of the run.
    """
    landing = Landing(root)
    run = landing.latest_run(provider)
    assert run is not None
    keys = {page.key for result in run.results for page in result.pages}
    assert {str(path.relative_to(root)) for path in landed_pages(root / provider)} == keys

    def by_content(page: Page) -> Page:
        content = hashlib.sha256(landing.read(page)).hexdigest()
        return replace(page, key=content, sha256="", bytes=0)

    results = (replace(one, pages=tuple(map(by_content, one.pages))) for one in run.results)
    return replace(run, results=tuple(results))
