"""The command ``hwprices demo``: something to look at without a dataset of one's own."""

import typer

from hwprices.cli.common import open_dataset, print_table
from hwprices.cli.show import render_summary
from hwprices.release.root import SAMPLE


def demo() -> None:
    """Show the small release that comes with the program.

    Every command can ask it with --root sample. It is a part of the bundled sample, so its prices
    are real and old; do not buy by them. Its history begins in 2022, with 46 machines of AWS and
    Google.

    Example:

        hwprices demo

        hwprices find 8xH100 --root sample
    """
    print_table(render_summary(open_dataset(SAMPLE, "latest")))
    typer.echo("\nThis is a sample: real prices, but old ones and of a few regions.")
