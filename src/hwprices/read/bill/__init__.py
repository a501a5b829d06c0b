"""A bill beside a release: what ``Dataset.bill`` returns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from hwprices.read.bill import readers
from hwprices.read.overlays import rules
from hwprices.release.release import Release

if TYPE_CHECKING:
    from hwprices.read.bill.check import BillCheck
    from hwprices.read.bill.reprice import Repricing


class Bill:
    """The lines of a bill, read and validated, and the release whose prices they are compared with.

    ``content`` has its format, files, currency and period.
    """

    def __init__(self, dataset: Release, path: str | Path) -> None:
        self.dataset = dataset
        self.content = readers.read(path)

    def __repr__(self) -> str:
        content = self.content
        return (
            f"<bill: {content.format}, {content.count:,} lines, {content.currency},"
            f" {content.first:%Y-%m-%d} to {content.last:%Y-%m-%d}>"
        )

    @property
    def lines(self) -> pl.LazyFrame:
        """The lines of every format in the same columns, which ``bill.formats.COLUMNS`` lists.

        ``file`` and ``line`` say where each one is.
        """
        return self.content.lines

    def check(
        self, *, overlays: "str | Path | rules.Overlays | None" = None, nearest: bool = False
    ) -> "BillCheck":
        """Compare each line with the list price that was valid in its hour.

        Args:
            overlays: own discounts, as in ``find``: lines that cost what they leave are as
                contracted.
            nearest: compare lines that are older than the price history with the first price known.

        Raises:
            HwpricesError: a rule is wrong.
        """
        from hwprices.read.bill import check

        return check.check(
            self.dataset, self.content, overlays=rules.given(overlays), nearest=nearest
        )

    def reprice(
        self,
        *,
        on: Sequence[str] = (),
        option: str = "on_demand",
        region: Sequence[str] = (),
        usd_per: Mapping[str, object] | None = None,
    ) -> "Repricing":
        """Compute what the machines of the bill cost elsewhere or bought in another way.

        Args:
            on: providers to move to: the nearest equal machine of each. Without any the bill's own:
                the same machine, bought with another option.
            option: purchase option there: on_demand, spot, reserved, savings_plan, committed_use;
                commitment is the cheapest one.
            region: regions there; without any the cheapest one in the machine's continent.
            usd_per: exchange rates, as in ``find``.

        Raises:
            HwpricesError: a provider, option or region is not known, or the bill's currency has no
                rate.
        """
        from hwprices.read.bill import reprice

        return reprice.reprice(
            self.dataset, self.content, on=on, option=option, region=region, rates=usd_per
        )
