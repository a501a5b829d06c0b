"""Find the list price of each kind of line, and the time in which it was valid.

Matches by the vendor's id of the price (rate code of AWS, meter of Azure), else by the vendor's
SKU, else by machine type, region, system, tenancy and purchase option.
"""

from datetime import UTC, datetime

import polars as pl

from hwprices.formulas import first_of
from hwprices.read.bill.formats import KEY, plain_place
from hwprices.release.release import IS_PLACEHOLDER, Release
from hwprices.units import Timestamp

BY_ID = "rate or meter id"
BY_SKU = "SKU"
BY_SPEC = "type, region, OS, tenancy, option"

WITHOUT_TERM = ("on_demand", "spot", "dev_test", "low_priority")
"""Purchase options without a term, paid per hour of use."""

ALWAYS = datetime(1900, 1, 1, tzinfo=UTC)
NEVER = datetime(2200, 1, 1, tzinfo=UTC)
VALID = "valid then"
BACKFILLED = "backfilled"
EARLIEST = "earliest known"
"""The price that a line is compared with: the price of its hour as observed by a release, the price
of its hour in the vendor's past list, or the first known price, which is later."""

AMOUNT = pl.Decimal(38, 12)
SPEC = [
    *("provider", "place", "type", "os", "software", "license_model", "tenancy"),
    "purchase_option",
]


def match(dataset: Release, keys: pl.DataFrame, parts: pl.DataFrame, currency: str) -> pl.DataFrame:
    """Add to each key its prices, and how they were found.

    Columns: ``price_ids`` (several only for spot: one per zone), ``part`` (a row of ``parts``),
    ``matched_by`` and ``is_spot``. If a price is missing, ``why`` is not_collected or unknown_sku,
    and ``detail`` explains it.
    """
    listed = _listed(dataset, keys, currency)
    lines = keys.select(
        KEY,
        "provider",
        *("place", "type", "os", "software", "license_model", "tenancy"),
        *("rate", "meter", "sku_id", "tier"),
        line_type=pl.col("type"),
        purchase_option=first_of({"spot": pl.col("bought") == "spot"}, "on_demand"),
    )
    ids = pl.concat(
        lines.select(
            KEY, "line_type", "provider", rate_id=pl.col(name).str.to_lowercase()
        ).drop_nulls("rate_id")
        for name in ("rate", "meter")
    )
    by_id = _single(ids.join(listed, on=["provider", "rate_id"]), BY_ID)
    by_sku = _single(
        lines.select(KEY, "line_type", "provider", "sku_id", "purchase_option").join(
            listed, on=["provider", "sku_id", "purchase_option"]
        ),
        BY_SKU,
    )
    by_spec = _single(lines.select(KEY, "line_type", *SPEC).join(listed, on=SPEC), BY_SPEC)
    by_part = pl.concat(
        [
            ids.drop("line_type")
            .join(parts.drop_nulls("rate_id"), on=["provider", "rate_id"])
            .filter(pl.struct("amount", "per").n_unique().over(KEY) == 1)
            .select(KEY, "part", "per", matched_by=pl.lit(BY_ID)),
            lines.select(KEY, "provider", "place", "sku_id", "tier")
            .join(parts, on=["provider", "sku_id"])
            .filter((pl.col("place") == pl.col("part_place")) | (pl.col("part_places") == 1))
            .filter(pl.col("only_tier") | (pl.col("tier") == pl.col("tier_from")))
            .select(KEY, "part", "per", matched_by=pl.lit(BY_SKU)),
        ]
    )
    found = pl.concat([by_id, by_sku, by_part, by_spec], how="diagonal")
    found = found.unique(KEY, keep="first", maintain_order=True)
    return _with_reasons(dataset, keys.join(found, on=KEY, how="left"), currency)


def _listed(dataset: Release, keys: pl.DataFrame, currency: str) -> pl.DataFrame:
    """Return the prices that lines may have, including prices that are no longer listed."""
    conditions = (
        pl.col("provider").is_in(keys["provider"].unique().drop_nulls().implode()),
        pl.col("purchase_option").is_in(WITHOUT_TERM),
        pl.col("currency") == currency,
    )
    wanted = [
        *("price_id", "provider", "region", "instance_type", "os", "software", "license_model"),
        *("tenancy", "purchase_option", "effective_hourly"),
    ]
    prices = dataset.scan("prices").filter(*conditions)
    current = prices.filter(~IS_PLACEHOLDER).select(*wanted, "sku_id", "sku_price_id")
    unknown = pl.lit(None, pl.String)
    gone = (
        dataset.scan("price_history")
        .filter(*conditions, pl.col("valid_to").is_not_null())
        .join(prices.select("price_id"), on="price_id", how="anti")
        .sort("valid_from")
        .unique("price_id", keep="last")
        .select(*wanted, sku_id=unknown, sku_price_id=unknown)
    )
    rows = pl.concat([current, gone]).with_columns(
        type=pl.col("instance_type").str.to_lowercase(),
        rate_id=pl.col("sku_price_id").str.to_lowercase(),
    )
    types = keys["type"].unique().drop_nulls().implode()
    ids = pl.concat([keys["rate"], keys["meter"]]).str.to_lowercase().unique().implode()
    skus = keys["sku_id"].unique().drop_nulls().implode()
    return (
        _placed(dataset, rows)
        .filter(
            pl.col("type").is_in(types)
            | pl.col("rate_id").is_in(ids)
            | pl.col("sku_id").is_in(skus)
        )
        .collect()
    )


def _placed(dataset: Release, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add ``place``, with a row for the region's id and another for its name if that differs.

    Azure's exports have both: eastus and "East US 2".
    """
    names = dataset.scan("regions").select("provider", "region", name="display_name")
    placed = rows.join(names, on=["provider", "region"], how="left").with_columns(
        place=pl.concat_list(plain_place(pl.col("region", "name"))).list.drop_nulls().list.unique()
    )
    return placed.drop("name").explode("place")


def parts_of(dataset: Release, keys: pl.DataFrame, currency: str) -> pl.DataFrame:
    """Return prices by SKU: of disks, network and other parts, and of components of machines.

    Columns: part (a number), provider, region, part_place, part_places (regions of the SKU),
    sku_id, rate_id, tier_from, only_tier (the SKU has one price there), amount (of one ``unit`` per
    ``per``: hour, month, use), valid_from, page.
    """
    conditions = (
        pl.col("provider").is_in(keys["provider"].unique().drop_nulls().implode()),
        pl.col("sku_id").is_in(keys["sku_id"].unique().drop_nulls().implode()),
        pl.col("currency") == currency,
    )
    columns = (
        *("provider", "region", "sku_id"),
        plain_place(pl.col("region")).alias("part_place"),
        pl.col("raw_sha256").alias("page"),
    )
    listed = dataset.scan("component_prices").filter(*conditions)
    # a SKU of TPUs may be for several chips, which this table divides
    parts = listed.filter(pl.col("unit") != "chip").select(
        *columns,
        unit="unit",
        rate_id=pl.col("sku_price_id").str.to_lowercase(),
        tier_from=pl.col("tier_from").cast(AMOUNT),
        amount="price",
        per="per",
        valid_from=pl.coalesce("effective_from", "observed_at"),
    )
    composed = dataset.scan("prices").filter(basis="composed").select("price_id")
    is_monthly = pl.col("unit").str.ends_with("_month")
    components = (
        dataset.scan("price_components")
        .filter(*conditions)
        .join(composed, on="price_id")
        .select(
            *columns,
            unit=pl.col("unit").str.strip_suffix("_month"),
            rate_id=pl.lit(None, pl.String),
            tier_from=pl.lit(None, AMOUNT),
            amount="unit_price",
            per=first_of({"month": is_monthly}, "hour"),
            valid_from="observed_at",
        )
    )
    place = ["provider", "part_place", "sku_id"]
    rows = pl.concat([parts.with_columns(is_part=True), components.with_columns(is_part=False)])
    first = pl.col("valid_from").min().over(place)
    return (
        # components have the vendor's exact figure, parts have the day from which it is valid
        rows.with_columns(valid_from=pl.when("is_part").then("valid_from").otherwise(first))
        .filter(~pl.col("is_part") | pl.col("is_part").all().over(place))
        .drop("is_part")
        .sort(*place, "amount", "valid_from")
        .unique(
            [*place, "rate_id", "tier_from", "amount", "per"], keep="first", maintain_order=True
        )
        .with_columns(
            only_tier=pl.len().over(place) == 1,
            part_places=pl.col("part_place").n_unique().over("provider", "sku_id"),
        )
        .collect()
        .with_row_index("part")
        .with_columns(pl.col("part").cast(pl.Int64))
    )


def _single(pairs: pl.DataFrame, how: str) -> pl.DataFrame:
    """Keep the keys whose candidates all cost the same; for spot, keep all zones of the machine.

    If an id prices several machine types, only those of the line's type count.
    """
    same = (pl.col("line_type") == pl.col("type")).fill_null(False)
    rows = pairs.filter(same | ~same.any().over(KEY))
    is_spot = pl.col("purchase_option") == "spot"
    return (
        rows.filter(is_spot | (pl.col("effective_hourly").n_unique().over(KEY) == 1))
        .sort("price_id")
        .group_by(KEY, maintain_order=True)
        .agg(price_ids=pl.col("price_id").unique(maintain_order=True), is_spot=is_spot.first())
        .with_columns(
            pl.when("is_spot").then("price_ids").otherwise(pl.col("price_ids").list.head(1)),
            matched_by=pl.lit(how),
            per=pl.lit("hour"),
        )
    )


def _with_reasons(dataset: Release, keys: pl.DataFrame, currency: str) -> pl.DataFrame:
    sold = (
        dataset.scan("prices")
        .filter(~IS_PLACEHOLDER)
        .select("provider", "region", "currency")
        .unique()
        .collect()
    )
    known = pl.col("provider").is_in(sold["provider"].unique().implode())
    places = _placed(dataset, sold.filter(currency=currency).lazy()).select(
        "provider", "place", sold=pl.lit(True)
    )
    service = pl.col("service").fill_null("no service")
    machine = pl.col("type").is_not_null()
    reasons: list[tuple[pl.Expr, str, pl.Expr]] = [
        (~known, "not_collected", pl.format("provider {}", pl.col("provider").fill_null("none"))),
        (~pl.col("compute"), "not_collected", service),
        (~machine, "not_collected", pl.format("{}, other than machines", service)),
        (
            pl.col("sold").is_null(),
            "not_collected",
            pl.format(
                "machines in {} ({})", pl.col("region").fill_null("no region"), pl.lit(currency)
            ),
        ),
        (pl.col("os").is_null(), "unknown_sku", pl.format("{}, no system stated", pl.col("type"))),
        (pl.lit(True), "unknown_sku", pl.format("{} in {}", pl.col("type"), pl.col("region"))),
    ]
    missing = pl.col("matched_by").is_null()
    no_unit = pl.col("hours").is_null() & (pl.col("per") != "use")
    unit = pl.format("the unit {} is not hours or months", pl.col("unit").fill_null("none"))
    cases = [(missing & test, why, detail) for test, why, detail in reasons]
    cases.append((~missing & no_unit, "unknown_sku", unit))
    return (
        keys.join(places.unique().collect(), on=["provider", "place"], how="left")
        .with_columns(
            why=pl.coalesce(pl.when(test).then(pl.lit(why)) for test, why, _ in cases),
            detail=pl.coalesce(pl.when(test).then(detail) for test, _, detail in cases),
        )
        .drop("sold")
    )


def tiles(
    dataset: Release,
    keys: pl.DataFrame,
    parts: pl.DataFrame,
    days: tuple[datetime, datetime],
    *,
    nearest: bool,
) -> pl.DataFrame:
    """Cut time into tiles in which the price of a key is constant.

    The tiles of a key have no gaps, so that each line is in exactly one of them. ``low`` and
    ``high`` are the hourly price, null if it is unknown for that time. They differ only for spot,
    whose tiles are days. ``price_of``: see EARLIEST.
    """
    priced = keys.filter(pl.col("why").is_null())
    pairs = priced.select(KEY, "is_spot", price_id="price_ids").explode("price_id").drop_nulls()
    past = pairs.join(_intervals(dataset, pairs["price_id"].unique()), on="price_id")
    part_tiles = priced.join(parts, on="part").select(
        *(KEY, "page", "part"),
        since="valid_from",
        until=pl.lit(NEVER).cast(Timestamp),
        low=pl.col("amount").cast(AMOUNT),
        price_of=pl.lit(VALID),
        release=pl.lit(dataset.version),
    )
    fixed = pl.concat([past.filter(~pl.col("is_spot")), part_tiles], how="diagonal").drop("is_spot")
    return (
        pl.concat(
            [_without_gaps(fixed, nearest=nearest), _by_day(past.filter("is_spot"), days)],
            how="diagonal",
        )
        .with_columns(high=pl.coalesce("high", "low"))
        .with_row_index("tile")
        .with_columns(pl.col("tile").cast(pl.Int64))
    )


def _intervals(dataset: Release, price_ids: pl.Series) -> pl.DataFrame:
    """Return the intervals of prices; the first one begins when the vendor's page was fetched."""
    first = pl.col("valid_from") == pl.col("valid_from").min().over("price_id")
    return (
        dataset.scan("price_history")
        .filter(pl.col("price_id").is_in(price_ids.implode()), pl.col("effective_hourly") > 0)
        .select(
            "price_id",
            since=pl.when(first)
            .then(pl.min_horizontal("valid_from", "observed_first"))
            .otherwise("valid_from"),
            until=pl.col("valid_to").fill_null(NEVER).cast(Timestamp),
            low=pl.col("effective_hourly").cast(AMOUNT),
            price_of=first_of({BACKFILLED: pl.col("start_reason") == "backfilled"}, VALID),
            release=pl.col("last_release"),
            page=pl.col("raw_sha256"),
        )
        .sort("price_id", "since")
        .collect()
    )


def _without_gaps(past: pl.DataFrame, *, nearest: bool) -> pl.DataFrame:
    """Add tiles without a price before the first interval, between intervals and after the last."""
    past = past.sort(KEY, "since")
    none = {name: pl.lit(None).alias(name) for name in ("low", "price_of", "release", "page")}
    following = pl.col("since").shift(-1).over(KEY).fill_null(NEVER)
    gaps = past.with_columns(since=pl.col("until"), until=following, **none)
    before = past.unique(KEY, keep="first", maintain_order=True).with_columns(
        since=pl.lit(ALWAYS).cast(Timestamp),
        until=pl.col("since"),
        **({"price_of": pl.lit(EARLIEST)} if nearest else none),
    )
    return pl.concat([before, past, gaps], how="vertical_relaxed").filter(
        pl.col("since") < pl.col("until")
    )


def _by_day(pairs: pl.DataFrame, days: tuple[datetime, datetime]) -> pl.DataFrame:
    """Return the lowest and highest spot price of each key and day, over all zones."""
    first, last = (pl.lit(day).cast(Timestamp).dt.truncate("1d") for day in days)
    all_days = pl.select(pl.datetime_range(first, last, "1d")).to_series()
    frame = pl.DataFrame({"day": all_days.cast(Timestamp)})
    overlapping = pairs.join(frame, how="cross").filter(
        pl.col("since") < pl.col("day").dt.offset_by("1d"), pl.col("until") > pl.col("day")
    )
    ranges = (
        overlapping.sort("low", "price_id")
        .group_by(KEY, "day", maintain_order=True)
        .agg(
            low=pl.col("low").min(),
            high=pl.col("low").max(),
            **{name: pl.col(name).first() for name in ("price_id", "price_of", "release", "page")},
        )
    )
    keys = pairs.select(KEY).unique(maintain_order=True)
    return (
        keys.join(frame, how="cross")
        .join(ranges, on=[KEY, "day"], how="left")
        .with_columns(until=pl.col("day").dt.offset_by("1d"))
        .rename({"day": "since"})
    )
