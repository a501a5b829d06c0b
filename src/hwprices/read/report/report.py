"""Write the report of a release: a folder of pages."""

from dataclasses import dataclass
from pathlib import Path

from hwprices.read.dataset import Dataset
from hwprices.read.report.index import index


@dataclass(frozen=True)
class Written:
    """What was written: the page to open, how many files there are and how large they are."""

    index: Path
    files: int
    bytes: int


def write(dataset: Dataset, folder: Path) -> Written:
    """Write the report of a release into a folder, which is made if it is missing.

    Files of an older report in it are replaced.
    """
    offers = dataset.scan("offers").collect()
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"index.html": index(dataset, offers)}
    size = 0
    for name, text in pages.items():
        data = text.encode()
        size += len(data)
        (folder / name).write_bytes(data)
    return Written(folder / "index.html", len(pages), size)
