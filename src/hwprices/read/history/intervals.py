"""Find the intervals of a machine type or an accelerator in the price history."""

import difflib
import re
from datetime import UTC, datetime

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import past
from hwprices.read.find.search import IS_PLACEHOLDER
from hwprices.read.find.vocabulary import Vocabulary
from hwprices.read.tables import Tables
from hwprices.units import Money

PLAIN = {"tenancy": "shared", "software": "none", "license_model": "included"}
"""What is meant where nobody says otherwise: a machine of one's own, nothing extra."""

MAX_SUGGESTIONS = 5


def history(
    tables: Tables,
    name: str,
    *,
    provider: str | None = None,
    region: str | None = None,
    purchase_option: str | None = None,
    os: str | None = None,
    plain: bool = False,
    names: Vocabulary | None = None,
) -> pl.DataFrame:
    """List every interval of the prices of a machine type, or of all that have an accelerator.

    Args:
        tables: a release.
        name: a machine type (p5.48xlarge, d4s_v5), a family (p5), or words of an accelerator's id
            (h100, "l40s").
        provider: only this one, by its code or its name for people (aws, Google); like region and
            purchase_option several with commas.
        region: only this one.
        purchase_option: only this one.
        os: only this one; any or all for every one.
        plain: only shared tenancy, without other software, licenses included.
        names: what the release calls its providers.

    Returns:
        The columns of price_history; ``placeholder``, as ``mark_placeholders`` says; and
        per_accelerator_hour: effective_hourly for one of its accelerators. Sorted by machine, place
        and way to buy, then by time.

    Raises:
        HwpricesError: no price of such a name was ever in a release, or there is no such provider,
            region, purchase option or system; names the nearest ones.
    """
    every = table(tables)
    rows = _rows_of(every, name).filter(
        *past.conditions(
            every,
            names or Vocabulary(tables),
            provider=provider,
            region=region,
            purchase_option=purchase_option,
            os=os,
        ),
        *(pl.col(column) == value for column, value in PLAIN.items() if plain),
    )
    count = pl.col("accelerator_count").cast(Money)
    each = pl.when(pl.col("accelerator_count") > 0).then(pl.col("effective_hourly") / count)
    marked = mark_placeholders(rows, tables)
    return marked.with_columns(per_accelerator_hour=each.cast(Money)).collect()


def mark_placeholders(rows: pl.LazyFrame, tables: Tables) -> pl.LazyFrame:
    """Add ``placeholder``: the interval holds, and this release flags its price as a placeholder.

    Of intervals that have ended, and of prices that are gone, nothing is known: the history has no
    flags.
    """
    flagged = tables.scan("prices").filter(IS_PLACEHOLDER)
    marks = flagged.select("price_id", placeholder=pl.lit(True))
    joined = rows.join(marks, on="price_id", how="left", maintain_order="left")
    is_open = pl.col("valid_to").is_null()
    return joined.with_columns(placeholder=pl.col("placeholder").fill_null(False) & is_open)


def table(tables: Tables) -> pl.LazyFrame:
    """Open the price history of a release.

    Raises:
        HwpricesError: it has none.
    """
    try:
        return tables.scan("price_history")
    except HwpricesError as error:
        raise HwpricesError(
            "this release has no price history", "The next release that is published has it."
        ) from error


def _rows_of(rows: pl.LazyFrame, name: str) -> pl.LazyFrame:
    names = rows.select("instance_type", "accelerator_id").unique().collect()
    types = names["instance_type"].unique().sort().to_list()
    wanted = name.strip().casefold()
    same = [one for one in types if wanted in (one.casefold(), _short(one))]
    if same:
        return rows.filter(pl.col("instance_type").is_in(same))
    devices = names["accelerator_id"].drop_nulls().unique().sort().to_list()
    words = wanted.replace(" ", "-").split("-")
    matching = [one for one in devices if one == wanted] or [
        one for one in devices if set(words) <= set(one.split("-")) and any(words)
    ]
    if matching:
        return rows.filter(pl.col("accelerator_id").is_in(matching))
    family = [one for one in types if is_of_family(one, wanted)]
    if not family:
        raise _unknown(name, [*types, *devices])
    return rows.filter(pl.col("instance_type").is_in(family))


def is_of_family(instance_type: str, name: str) -> bool:
    """Tell whether a type belongs to a family: what stands before its first dot or hyphen.

    >>> is_of_family("p5.48xlarge", "P5"), is_of_family("p5en.48xlarge", "p5")
    (True, False)
    """
    return re.split(r"[.-]", instance_type.casefold())[0] == name.strip().casefold()


def _short(instance_type: str) -> str:
    """Spell a type without the vendor's prefix: Standard_D4s_v5 is d4s_v5."""
    return instance_type.casefold().removeprefix("standard_")


def _unknown(name: str, names: list[str]) -> HwpricesError:
    by_lower = {one.casefold(): one for one in reversed(names)}
    wanted = name.strip().casefold()
    close = [one for one in by_lower if wanted and wanted in one][:MAX_SUGGESTIONS]
    close = close or difflib.get_close_matches(wanted, by_lower, MAX_SUGGESTIONS, 0.5)
    nearest = ", ".join(by_lower[one] for one in close)
    hint = f"Did you mean {nearest}?" if close else "hwprices query lists the names."
    return HwpricesError(f"no release has had a price of {name[:60]!r}", hint)


def valid_at(rows: pl.LazyFrame, at: datetime) -> pl.LazyFrame:
    """Select the intervals that hold at a time."""
    moment = pl.lit(at.astimezone(UTC)).cast(pl.Datetime("us", "UTC"))
    ended = (pl.col("valid_to") <= moment).fill_null(False)
    return rows.filter(pl.col("valid_from") <= moment, ~ended)
