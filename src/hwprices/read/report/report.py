"""Write the report of a release: a folder of pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hwprices.errors import cannot_write
from hwprices.read.report import programs
from hwprices.read.report.files import bundled, image
from hwprices.read.report.index import index
from hwprices.read.report.pages import Machines, ReportPage, ReportPages
from hwprices.release.release import Release
from hwprices.storage import layout


@dataclass(frozen=True)
class Written:
    """What was written: the page to open, how many files there are and how large they are."""

    index: Path
    files: int
    bytes: int


def write(dataset: Release, folder: Path) -> Written:
    """Write the whole report of a release into a folder, which is made if it is missing.

    Files of an older report in it are replaced; others are left alone.

    Raises:
        HwpricesError: a file cannot be written.
    """
    files = size = 0
    for page in pages(dataset):
        target = folder / page.path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            size += target.write_bytes(page.content)
        except OSError as error:
            raise cannot_write(target, error) from None
        files += 1
    return Written(folder / "index.html", files, size)


def write_into_release(dataset: Release) -> int:
    """Write a report beside the tables of its release, and return the number of files.

    It has pages of those machine types only that have accelerators: all of them would be thousands
    of files in each release. ``write`` makes them from the release at any time.

    Raises:
        HwpricesError: the root cannot be written.
    """
    files = 0
    for page in pages(dataset, "accelerators"):
        dataset.store.put(layout.release_report(dataset.version, page.path), page.content)
        files += 1
    return files


def pages(dataset: Release, machines: Machines = "all") -> Iterator[ReportPage]:
    """Make the files of a report one by one: thousands of pages need not be in memory at once."""
    offers = dataset.scan("offers").collect()
    yield ReportPage("page.css", bundled("page.css").text)
    yield ReportPage("og.png", image())
    yield ReportPage("LICENSES.txt", bundled("LICENSES.txt").text)
    # It takes seconds: a disk that is full is noticed at the small files before it.
    yield ReportPage("index.html", index(dataset, offers, machines))
    single = ReportPages(dataset, offers)
    yield from single.accelerators()
    yield from single.machines(machines)
    for path, text in programs.files(dataset):
        yield ReportPage(path, text)
