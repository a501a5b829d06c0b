"""Write the report of a release: a folder of pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hwprices.read.dataset import Dataset
from hwprices.read.report.index import bundled, index
from hwprices.read.report.pages import Page, Pages


@dataclass(frozen=True)
class Written:
    """What was written: the page to open, how many files there are and how large they are."""

    index: Path
    files: int
    bytes: int


def write(dataset: Dataset, folder: Path) -> Written:
    """Write the report of a release into a folder, which is made if it is missing.

    Files of an older report in it are replaced; others are left alone.
    """
    files = size = 0
    for page in pages(dataset):
        target = folder / page.path
        target.parent.mkdir(parents=True, exist_ok=True)
        files, size = files + 1, size + target.write_bytes(page.html.encode())
    return Written(folder / "index.html", files, size)


def pages(dataset: Dataset) -> Iterator[Page]:
    """Make the files of a report one by one: thousands of pages need not be in memory at once."""
    offers = dataset.scan("offers").collect()
    yield Page("index.html", index(dataset, offers))
    yield Page("page.css", bundled("page.css").text)
    yield Page("LICENSES.txt", bundled("LICENSES.txt").text)
    single = Pages(dataset, offers)
    yield from single.accelerators()
    yield from single.machines()
