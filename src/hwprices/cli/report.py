"""The command ``hwprices export report``: a release as pages to look at."""

from pathlib import Path
from typing import Annotated

import typer

from hwprices.cli.common import open_dataset
from hwprices.read.report import report as pages

SHARED = ("root", "version")
Out = Annotated[Path, typer.Option(help="The folder to write into.")]


def report(out: Out = Path("report")) -> None:
    """Write a release as pages for a browser.

    They need no server and no network. Open index.html in the folder: offers to filter and compare,
    accelerators side by side, charts.
    The folder can be copied, mailed, or put on any web server.

    Example:

        hwprices export report --out report
    """
    written = pages.write(open_dataset(), out)
    typer.echo(f"{written.index}  ({written.files:,} files, {written.bytes / 1e6:.1f} MB)")
