"""Check each line of a bill against the price that was valid in its hour."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from hwprices.read.bill import formats as line_keys
from hwprices.read.bill import prices
from hwprices.read.bill.formats import KEY
from hwprices.read.bill.readers import BillLines
from hwprices.read.citation import cite_row
from hwprices.read.find.names import ReleaseWords
from hwprices.read.overlays import apply
from hwprices.read.overlays.apply import warn_unmatched
from hwprices.read.overlays.rules import Discounts, Overlays, as_overlays
from hwprices.release.release import Release
from hwprices.schemas import PRICE_KEY
from hwprices.specs import csv_rows
from hwprices.units import HOURS_PER_MONTH, Money, Timestamp

_TABLE = csv_rows(Path(__file__).with_name("classes.csv"))

CLASSES = {row["class"]: row["shown"] for row in _TABLE}
"""Classes of lines, in words."""

CHECKED = [row["class"] for row in _TABLE if row["compared"]]
"""Classes of lines that were compared with a price, or with another line of the bill."""

ERRORS = [row["class"] for row in _TABLE if row["error"]]
"""Classes to ask the vendor about."""

LARGEST = 10
EXACT = 1e-9  # Vendors print costs with nine decimals or more
EXACT_SHARE = 1e-6  # Vendors print quantities with about seven digits
SIX_DECIMALS = 1e-6
HALF_CENT = 0.005  # Rounding error of costs with two decimals
MIN_ROUNDED = 0.5  # Below this, rounding to cents could hide a wrong price of one percent
CLASS = pl.Enum(list(CLASSES))


@dataclass(frozen=True)
class BillCheck:
    """The result of a check. Amounts are in ``currency``.

    Attributes:
        lines: lazy, one row per line of the bill, with ``class``, ``price`` (list price of one
            unit at that time), ``expected`` (price times quantity), ``difference`` (billed minus
            expected), ``discount_percent``, ``matched_by``, ``price_of`` and ``tile``.
        proofs: price_id and citation of each tile.
        coverage: usage lines and their list cost, in total and checked: for all, and by provider.
        totals: one row per class.
        services: the unchecked lines by reason.
        largest: the ten largest differences.
        commitments: what each commitment costs and saves.
        currency: of all amounts.
        notes: sentences on the result.
        bill: the bill.
    """

    lines: pl.LazyFrame
    proofs: pl.DataFrame
    coverage: pl.DataFrame
    totals: pl.DataFrame
    services: pl.DataFrame
    largest: pl.DataFrame
    commitments: pl.DataFrame
    currency: str
    notes: tuple[str, ...]
    bill: BillLines

    def write(self, target: str | Path) -> Path:
        """Write every line with its class, match, price_id and citation; see ``write.write``."""
        from hwprices.read import bill

        return bill.write(self.lines, self.proofs, self.totals, target)


def check(
    dataset: Release, bill: BillLines, *, overlays: Discounts = None, nearest: bool = False
) -> BillCheck:
    """Classify each line of a bill; see ``Bill.check``."""
    rules = as_overlays(overlays)
    kinds = line_keys.distinct(bill.lines)
    parts = prices.parts_of(dataset, kinds, bill.currency)
    matched = prices.match(dataset, kinds, parts, bill.currency)
    tiles = prices.tiles(dataset, matched, parts, (bill.first, bill.last), nearest=nearest)
    tiles = _contracted(dataset, tiles, parts, rules, (bill.first, bill.last))
    lookup = _lookup(matched, tiles)
    marks = bill.doubles.with_columns(double=pl.lit(True))
    lines = _with_idle(_joined(bill.lines, lookup), bill.lines)
    classified = _classified(lines.join(marks, on="row", how="left", maintain_order="left"))
    grouped = _grouped(classified, lookup, matched)
    wrong = not grouped.filter(_is(*ERRORS)).is_empty()
    return BillCheck(
        lines=classified,
        proofs=proofs(dataset, tiles, parts),
        coverage=_coverage(grouped),
        totals=_totals(grouped),
        services=_services(grouped),
        largest=_largest(classified.filter(wrong)).collect(engine="streaming"),
        commitments=_commitments(classified),
        currency=bill.currency,
        notes=_notes(grouped, bill, dataset),
        bill=bill,
    )


def _contracted(
    dataset: Release,
    tiles: pl.DataFrame,
    parts: pl.DataFrame,
    overlays: Overlays | None,
    days: tuple[datetime, datetime],
) -> pl.DataFrame:
    """Split tiles where rules begin and end, and add ``contract``, the price after the rules.

    A part has only a provider, a region and a country. Therefore it matches only percentage rules
    on these: an amount needs a currency.
    """
    if overlays is None:
        return tiles.with_columns(contract=pl.lit(None, dtype=prices.AMOUNT))
    first, last = days[0].date(), days[1].date()
    bounds = {rule.first for rule in overlays.rules}
    bounds |= {rule.last + timedelta(days=1) for rule in overlays.rules if rule.last}
    cuts = [first, *sorted(day for day in bounds if day and first < day <= last)]
    edges = [prices.ALWAYS, *cuts[1:], prices.NEVER]
    held = [rule for rule in overlays.rules if any(map(rule.holds_on, cuts))]
    always = tuple(replace(rule, first=None, last=None) for rule in held)
    warn_unmatched(dataset, replace(overlays, rules=always), ReleaseWords.of(dataset))
    wanted = pl.col("price_id").is_in(tiles["price_id"].drop_nulls().unique().implode())
    machines = dataset.scan("price_history").filter(wanted).select("price_id", *PRICE_KEY)
    beside = parts.lazy().select("part", "provider", "region")
    sold = pl.concat(
        [
            machines.join(tiles.lazy().select("tile", "price_id"), on="price_id"),
            beside.join(tiles.lazy().select("tile", "part"), on="part"),
        ],
        how="diagonal",
    )
    names = apply.described(dataset, sold.unique("tile")).collect()
    amount = pl.col("low").cast(Money)
    segments = []
    for day, since, until in zip(cuts, edges, edges[1:], strict=False):
        piece = tiles.with_columns(
            since=pl.max_horizontal("since", pl.lit(since).cast(Timestamp)),
            until=pl.min_horizontal("until", pl.lit(until).cast(Timestamp)),
        ).filter(pl.col("since") < pl.col("until"))
        rows = piece.select(
            "tile", effective_hourly=amount, hourly=amount, upfront=pl.lit(None, dtype=Money)
        ).join(names, on="tile")
        contract = pl.when(pl.col(apply.RULE).is_not_null()).then("effective_hourly")
        ruled = apply.apply(rows.lazy(), replace(overlays, day=day)).select(
            "tile", contract=contract.cast(prices.AMOUNT)
        )
        segments.append(piece.join(ruled.collect(), on="tile", how="left"))
    return pl.concat(segments)


def _lookup(matched: pl.DataFrame, tiles: pl.DataFrame) -> pl.DataFrame:
    """Return the facts and prices of each kind of line, by key and time; prices per line unit."""
    facts = matched.select(
        *(KEY, "detail", "matched_by", "type", "place", "hours", "block", "per"),
        why=pl.col("why").cast(CLASS),
        is_spot=pl.col("is_spot").fill_null(False),
    )
    rows = facts.join(tiles.drop("page", "release"), on=KEY, how="left")
    time = pl.when(pl.col("per") == "use").then(1).otherwise("hours")
    units = (time * pl.col("block")).cast(prices.AMOUNT)
    period = pl.when(pl.col("per") == "month").then(HOURS_PER_MONTH).otherwise(1)
    return (
        rows.with_columns(units=units, period=period.cast(prices.AMOUNT))
        .with_columns(
            (pl.col(name) * pl.col("units") / pl.col("period")).alias(price)
            for name, price in {"low": "price", "high": "high", "contract": "contract"}.items()
        )
        .with_columns(
            since=pl.col("since").fill_null(prices.ALWAYS).cast(Timestamp),
            until=pl.col("until").fill_null(prices.NEVER).cast(Timestamp),
        )
        .drop("low", "hours", "block", "per", "units", "period", "price_id", "part")
    )


def _joined(lines: pl.LazyFrame, lookup: pl.DataFrame) -> pl.LazyFrame:
    return (
        lines.join(lookup.lazy(), on=KEY, maintain_order="left")
        .filter(pl.col("start") >= pl.col("since"), pl.col("start") < pl.col("until"))
        .drop("since", "until")
    )


def _with_idle(lines: pl.LazyFrame, bill: pl.LazyFrame) -> pl.LazyFrame:
    """Add ``idle``: whether a commitment that covers a line was unused in its hour.

    A commitment covers the machine types and regions of its lines in the bill.
    """
    place = ["provider", "place", "type"]
    unused = (
        bill.filter(pl.col("commitment_status") == "unused", pl.col("effective").fill_null(0) > 0)
        .select("commitment", "start")
        .unique()
        .collect(engine="streaming")
    )
    if unused.is_empty():
        return lines.with_columns(idle=pl.lit(False))
    covered = (
        lines.filter(pl.col("commitment").is_not_null(), pl.col("type").is_not_null())
        .select("commitment", *place)
        .unique()
        .collect(engine="streaming")
    )
    marks = unused.join(covered, on="commitment").select(*place, "start").unique()
    return lines.join(
        marks.lazy().with_columns(idle=pl.lit(True)),
        on=[*place, "start"],
        how="left",
        maintain_order="left",
    ).with_columns(pl.col("idle").fill_null(False))


def _classified(lines: pl.LazyFrame) -> pl.LazyFrame:
    """Add class, expected, difference and discount_percent.

    Amounts are compared as floats (15 digits), and returned as decimals.
    """
    quantity, billed, listed, cost, price, high, contract = (
        pl.col(name).cast(pl.Float64)
        for name in ("quantity", "billed", "list_price", "list_cost", "price", "high", "contract")
    )
    expected = quantity * price
    off_list = (
        pl.when(listed != 0)
        .then(~_near(listed, price))
        .when(cost != 0)
        .then(~_near(cost, expected) & ~_rounded(cost, expected))
        .otherwise(False)
    )
    at_bounds = _near(billed, expected) | _near(billed, quantity * high)
    in_range = billed.is_between(expected, quantity * high) | at_bounds
    contracted = quantity * contract
    as_contracted = _near(billed, contracted) | _rounded(billed, contracted)
    committed = pl.col("commitment").is_not_null() | (pl.col("option") == "committed")
    correction = pl.col("charge_class").str.to_lowercase() == "correction"
    refund = (billed < 0) & (quantity > 0)
    before: Mapping[str, pl.Expr] = {
        "not_usage": (pl.col("category") != "usage") | correction | refund,
        "unused_commitment": pl.col("commitment_status") == "unused",
        "billed_twice": pl.col("double"),
    }
    after: Mapping[str, pl.Expr] = {
        "no_price_then": price.is_null(),
        "unknown_sku": quantity.is_null(),
        "spot": pl.col("is_spot") & in_range,
        "differs": pl.col("is_spot") | off_list,
        "commitment": committed,
        "idle_commitment": pl.col("idle") & (billed > 0),
        "as_contracted": as_contracted,
        "differs_from_contract": contract.is_not_null(),
        "equal": _near(billed, expected),
        "rounding": _rounded(billed, expected),
        "discounted": (billed * expected >= 0) & (billed.abs() < expected.abs()),
    }
    chosen = pl.coalesce(
        *(pl.when(test).then(pl.lit(name, dtype=CLASS)) for name, test in before.items()),
        "why",
        *(pl.when(test).then(pl.lit(name, dtype=CLASS)) for name, test in after.items()),
        pl.lit("differs", dtype=CLASS),
    )
    exact = pl.col("quantity") * pl.col("price")
    compared = _is("differs", "discounted", "equal", "rounding", "as_contracted")
    listed_alone = _is("differs") & (pl.col("billed") == 0)
    return lines.with_columns(
        chosen.alias("class"),
        expected=exact,
        money=pl.coalesce("list_cost", pl.col("list_price") * pl.col("quantity"), "billed"),
    ).with_columns(
        difference=pl.when(_is("billed_twice"))
        .then("billed")
        .when(_is("differs_from_contract"))
        .then(pl.col("billed") - pl.col("quantity") * pl.col("contract"))
        .when(listed_alone)
        .then(pl.col("list_cost") - exact)
        .when(compared)
        .then(pl.col("billed") - exact),
        discount_percent=pl.when(_is("discounted")).then(((1 - billed / expected) * 100).round(4)),
    )


def _is(*classes: str) -> pl.Expr:
    return pl.col("class").is_in(classes)


def _near(value: pl.Expr, expected: pl.Expr) -> pl.Expr:
    """Check whether two amounts are equal up to the printed digits."""
    return (value - expected).abs() <= EXACT + EXACT_SHARE * expected.abs()


def _rounded(value: pl.Expr, expected: pl.Expr) -> pl.Expr:
    """Check whether an amount is the expected one rounded to six decimals or to cents."""
    off = (value - expected).abs()
    in_cents = ((value - value.round(2)).abs() < EXACT) & (expected.abs() >= MIN_ROUNDED)
    return (off <= SIX_DECIMALS) | (in_cents & (off <= HALF_CENT))


def _grouped(lines: pl.LazyFrame, lookup: pl.DataFrame, kinds: pl.DataFrame) -> pl.DataFrame:
    """Sum the lines of each class, service and reason."""
    sums = (
        lines.group_by("class", KEY, "tile")
        .agg(
            lines=pl.len(),
            list_cost=pl.col("money").sum(),
            size=pl.col("money").abs().sum(),
            billed=pl.col("billed").sum(),
            difference=_known_sum("difference"),
        )
        .collect(engine="streaming")
    )
    of_tiles = lookup.select(KEY, "tile", "price_of").unique()
    checked = _is(*CHECKED)
    return (
        sums.join(kinds.select(KEY, "provider", "service", "detail", "matched_by"), on=KEY)
        .join(of_tiles, on=[KEY, "tile"], nulls_equal=True, how="left")
        .with_columns(pl.when(checked).then(pl.col("price_of")))
    )


def _known_sum(column: str) -> pl.Expr:
    """Sum a column; null instead of 0 if it has no value."""
    return pl.when(pl.col(column).count() > 0).then(pl.col(column).sum()).alias(column)


SHOWN = [
    *("file", "line", "class", "provider", "service", "region", "type", "resource", "start"),
    *("quantity", "unit", "list_price", "price", "billed", "expected", "difference"),
    *("discount_percent", "currency", "price_of", "matched_by", "tile"),
]


def _largest(lines: pl.LazyFrame) -> pl.LazyFrame:
    """Select the lines with the largest unexplained differences."""
    size = pl.col("difference").fill_null(0).abs()
    return (
        lines.filter(_is(*ERRORS))
        .select("row", *SHOWN)
        .top_k(LARGEST, by=[size, "row"], reverse=[False, True])
        .sort(size, "row", descending=[True, False])
        .drop("row")
    )


def _commitments(lines: pl.LazyFrame) -> pl.DataFrame:
    """Sum the cost of each commitment, and the on-demand cost of its use.

    Commitments that cost more than they save come first. The saving is null if the bill does not
    spread the fee over the use (``cost`` 0, as in Azure's actual costs).
    """
    idle = (pl.col("commitment_status") == "unused").fill_null(False)
    used = (pl.col("category") == "usage") & ~idle
    effective = pl.col("effective").fill_null(0)
    cost = pl.col("used_cost") + pl.col("unused_cost")
    share = pl.col("used_cost").cast(pl.Float64) / cost.cast(pl.Float64)
    return (
        lines.filter(pl.col("commitment").is_not_null())
        .group_by("provider", "commitment")
        .agg(
            kind=pl.col("commitment_kind").min(),  # AWS has a word for each kind of line
            lines=used.sum(),
            used_cost=effective.filter(used).sum(),
            unused_cost=effective.filter(idle).sum() + pl.col("unused").fill_null(0).sum(),
            on_demand_cost=pl.coalesce("expected", "money").filter(used).sum(),
        )
        .with_columns(
            cost=cost,
            saving=pl.when(cost > 0).then(pl.col("on_demand_cost") - cost),
            utilization=pl.when(cost > 0).then(share.round(4)),
        )
        .sort("saving", "commitment", nulls_last=True)
        .collect(engine="streaming")
    )


def _coverage(grouped: pl.DataFrame) -> pl.DataFrame:
    """Return the checked share of usage, by lines and by list cost, for all and by provider."""
    usage = grouped.filter(~_is("not_usage", "unused_commitment"))
    checked = _is(*CHECKED)
    sums = {"lines": "lines", "list_cost": "size"}
    columns = {name: pl.col(source).sum() for name, source in sums.items()} | {
        f"{name}_checked": pl.col(source).filter(checked).sum() for name, source in sums.items()
    }
    total = usage.select(provider=pl.lit("all"), **columns)
    parts = usage.group_by("provider").agg(**columns)
    return pl.concat(
        [total, parts.sort("list_cost", "provider", descending=True)], how="vertical_relaxed"
    ).with_columns(
        (pl.col(f"{name}_checked").cast(pl.Float64) / pl.col(name).cast(pl.Float64))
        .fill_nan(None)
        .round(6)
        .alias(f"{name}_share")
        for name in sums
    )


def _totals(grouped: pl.DataFrame) -> pl.DataFrame:
    return (
        grouped.group_by("class", "price_of")
        .agg(pl.col("lines", "list_cost", "billed").sum(), _known_sum("difference"))
        .sort("class", "price_of")
        .with_columns(pl.col("class").cast(pl.String))
    )


def _services(grouped: pl.DataFrame) -> pl.DataFrame:
    """Sum the unchecked lines by class, service and detail."""
    return (
        grouped.filter(_is("not_collected", "unknown_sku", "no_price_then"))
        .group_by(pl.col("class").cast(pl.String), "provider", "service", "detail")
        .agg(pl.col("lines", "list_cost").sum())
        .sort("list_cost", "lines", "detail", descending=[True, True, False])
    )


def _notes(grouped: pl.DataFrame, bill: BillLines, dataset: Release) -> tuple[str, ...]:
    notes = []
    checked = grouped.filter(_is(*CHECKED))

    def counted(column: str) -> dict[str, int]:
        sums = checked.drop_nulls(column).group_by(column).agg(pl.col("lines").sum())
        return dict(sums.sort(column).iter_rows())

    if by := counted("matched_by"):
        notes.append(
            "Lines were matched by " + "; ".join(f"{how}: {count:,}" for how, count in by.items())
        )
    sources = counted("price_of")
    if later := sources.get(prices.EARLIEST):
        notes.append(
            "Lines compared with the first price known, which is of a later time, as they are older"
            f" than the price history: {later:,}."
        )
    if backfilled := sources.get(prices.BACKFILLED):
        notes.append(f"Lines compared with prices of the vendor's own past lists: {backfilled:,}.")
    missing = grouped.filter(pl.col("class") == "no_price_then")["lines"].sum()
    if missing:
        notes.append(
            f"Lines older than the price history: {missing:,}. Fetch past prices with hwprices"
            " admin backfill, or compare with the first price known: --nearest (nearest=True)."
        )
    made = datetime.fromisoformat(dataset.manifest["created_at"])
    if bill.last > made:
        notes.append(
            f"The release dates from {made:%Y-%m-%d}; later lines are compared with its latest"
            " prices."
        )
    if bill.ignored:
        notes.append(f"Not read: {', '.join(bill.ignored)}.")
    return tuple(notes)


GONE = {"sku_price_id": None, "sku_id": None, "source_url": "a page that is no longer listed"}
"""Values of a price that the release no longer lists."""


def proofs(dataset: Release, tiles: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Return price_id and citation of each tile with a price.

    A citation names the vendor's SKU, the landed page and the release; ``hwprices recheck`` accepts
    it, except the citation of a part.
    """
    known = tiles.filter(pl.col("low").is_not_null())
    wanted = pl.col("price_id").is_in(known["price_id"].unique().drop_nulls().implode())
    listed = dataset.scan("prices").filter(wanted).collect()
    prices = {row["price_id"]: row for row in listed.iter_rows(named=True)}
    composed = dataset.scan("price_components").filter(wanted).collect()
    components = {key: rows for (key,), rows in composed.group_by("price_id")}
    citations = {}
    for row in dataset.scan("price_history").filter(wanted).collect().iter_rows(named=True):
        price = GONE | prices.get(row["price_id"], {}) | row | {"observed_at": row["observed_last"]}
        parts_of_price = components.get(row["price_id"], composed.clear())
        since, until, release = row["valid_from"], row["valid_to"], row["last_release"]
        if row["effective_hourly"] is not None:
            citations[row["price_id"], release, row["effective_hourly"]] = str(
                cite_row(release, price, parts_of_price, since, until)
            )
    skus = {row["part"]: row for row in parts.iter_rows(named=True)}
    texts = []
    for tile, price_id, release, low, part in known.select(
        "tile", "price_id", "release", pl.col("low").cast(Money), "part"
    ).iter_rows():
        text = citations.get((price_id, release, low))
        if part is not None:
            sku = skus[part]
            text = (
                f"hwprices {release}: SKU {sku['sku_id']}, {low.normalize():f}"
                f" per {sku['unit']} and {sku['per']}; page SHA-256 {sku['page']}"
            )
        texts.append((tile, price_id, text))
    schema = {"tile": pl.Int64, "price_id": pl.String, "citation": pl.String}
    return pl.DataFrame(texts, schema=schema, orient="row").unique("tile", maintain_order=True)
