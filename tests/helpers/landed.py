"""List the landed pages in a folder, and compare those of two folders."""

from pathlib import Path

from hwprices.landing.pages import Landing
from hwprices.storage import layout


def landed_pages(folder: Path) -> list[Path]:
    """List the pages anywhere below a folder, however they are packed; none without a folder."""
    return [path for path in sorted(folder.rglob("*")) if layout.is_page(path.name)]


def landed_contents(folder: Path, provider: str) -> list[tuple[object, ...]]:
    """List what the latest run of a provider landed: units, facts about each page, its content.

    Two lists are equal if the pages are, however they are packed.
    """
    landing = Landing(folder)
    run = landing.latest_run(provider)
    assert run is not None
    pages = [(result.unit, page) for result in run.results for page in result.pages]
    assert {page.key for _, page in pages} == {
        path.relative_to(folder).as_posix() for path in landed_pages(folder / provider)
    }
    return [
        (run.run_id, unit, page.url, page.params, page.retrieved_at, landing.read(page))
        for unit, page in pages
    ]
