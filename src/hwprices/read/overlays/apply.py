"""Apply own discounts to list prices, and warn of rules that match no price.

A misspelled option or term is an error when the file of rules is read. A provider, place, machine
type or accelerator that this release does not have is only a warning, because another release may
have it.
"""

import fnmatch
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

import polars as pl

from hwprices.errors import HwpricesWarning, did_you_mean, escaped
from hwprices.read.currency import USD, Rates, offers_in_usd
from hwprices.read.find import words
from hwprices.read.find.names import ReleaseWords, country_code
from hwprices.read.find.search import COMMITMENT
from hwprices.read.overlays.rules import MATCH_COLUMNS, Overlays, Rule
from hwprices.release.release import Tables
from hwprices.release.wording import counted
from hwprices.schemas.vocabulary import COMMITMENT_COLUMNS
from hwprices.units import HOURS_PER_MONTH, Money, WideMoney

LIST_PRICE = "list_effective_hourly"
RULE = "overlay"
IN_USD = pl.lit(USD)

OF_OFFERS = {
    "os": pl.lit("linux"),
    "license_model": pl.lit("included"),
    "tenancy": pl.lit("shared"),
    "upfront": pl.lit(None, dtype=Money),
}
"""Values that all prices of ``offers`` share."""


def apply(rows: pl.LazyFrame, overlays: Overlays) -> pl.LazyFrame:
    """Change the prices of rows that have the columns of ``prices`` and of their machine.

    Changes ``hourly``, ``upfront`` and ``effective_hourly``. Adds ``list_effective_hourly``, the
    list price, and ``overlay``, the names of the rules that applied in their order, or null.
    Unknown prices stay unknown. A change that would leave nothing of a price does not apply.

    ``rows``: one price a row, with the columns of machines that the rules name.
    """
    rows = rows.with_columns(
        pl.col("effective_hourly").alias(LIST_PRICE),
        pl.lit(None, dtype=pl.String).alias(RULE),
        pl.lit(False).alias("__stopped"),
    )
    for rule in overlays.active:
        rows = _apply_rule(rows, rule)
    return rows.drop("__stopped")


def apply_to_column(
    rows: pl.LazyFrame, overlays: Overlays, column: str, option: str, currency: pl.Expr = IN_USD
) -> pl.LazyFrame:
    """Change one column of hourly prices of offers, such as ``spot_usd_per_hour``.

    Adds ``overlay_<column>``. ``option`` is the purchase option of its prices, without a term.
    """
    narrow = rows.with_columns(
        pl.struct(pl.all()).alias("__row"),
        effective_hourly=pl.col(column),
        hourly=pl.col(column),
        currency=currency,
        purchase_option=pl.lit(option),
        commitment_plan=pl.lit(None, dtype=pl.String),
        term_months=pl.lit(0),
        **OF_OFFERS,
    )
    rule = pl.col(RULE).alias(f"overlay_{column}")
    changed = apply(narrow, overlays).select("__row", rule, __price="effective_hourly")
    return changed.unnest("__row").with_columns(pl.col("__price").alias(column)).drop("__price")


def apply_to_offers(offers: pl.LazyFrame, overlays: Overlays, rates: Rates) -> pl.LazyFrame:
    """Change the prices in USD of offers: on demand, spot and the best commitments.

    Rules apply to the on-demand price before ``rates`` convert it, so that rules with an amount see
    the vendor's currency. Other figures that derive from the on-demand price in USD are not
    changed. Adds ``overlay_<column>`` for each price: the names of the rules that changed it, or
    null.
    """
    native, in_usd, currency = "on_demand_hourly", "on_demand_usd_per_hour", pl.col("currency")
    offers = apply_to_column(offers, overlays, native, "on_demand", currency)
    offers = offers.with_columns(
        pl.when(currency == USD).then(native).otherwise(in_usd).alias(in_usd),
        pl.col(f"overlay_{native}").alias(f"overlay_{in_usd}"),
    )
    offers = offers_in_usd(offers, rates)
    offers = apply_to_column(offers, overlays, "spot_usd_per_hour", "spot")
    return apply_to_commitments(offers, overlays)


COMMITTED_COLUMN = re.compile(
    rf"({'|'.join(COMMITMENT_COLUMNS)})_([13])y(?:_(?:no|partial|all)_upfront)?_usd_per_hour"
)


def apply_to_commitments(offers: pl.LazyFrame, overlays: Overlays) -> pl.LazyFrame:
    """Choose the cheapest commitments of offers again, after own discounts on each.

    Changes ``best_1y_usd_per_hour`` and ``best_1y_option``, and the same of 3 years, but not the
    columns of each commitment. Adds ``overlay_best_1y_usd_per_hour``, and the same of 3 years.
    """
    key = ["provider", "region", "instance_type"]
    names = offers.collect_schema().names()
    committed = [
        (name, *COMMITMENT_COLUMNS[match[1]], 12 * int(match[2]))
        for name in names
        if (match := COMMITTED_COLUMN.fullmatch(name))
    ]
    columns = ["column", "purchase_option", "commitment_plan", "term_months"]
    terms = pl.LazyFrame(committed, schema=columns, orient="row").with_row_index("position")
    machine = [name for name in dict.fromkeys([*key, *MATCH_COLUMNS.values()]) if name in names]
    price = pl.col("effective_hourly")
    listed = (
        offers.select(*machine, *(row[0] for row in committed))
        .unpivot(index=machine, variable_name="column", value_name="effective_hourly")
        .filter(price.is_not_null())
        .join(terms, on="column")
        .with_columns(hourly=price, **OF_OFFERS, currency=IN_USD)
    )
    cheapest = apply(listed, overlays).sort("effective_hourly", "position")
    for years in (1, 3):
        best = (
            cheapest.filter(term_months=12 * years)
            .unique(key, keep="first", maintain_order=True)
            .select(
                *key,
                pl.col("effective_hourly").alias(f"best_{years}y_usd_per_hour"),
                pl.col("column").str.strip_suffix("_usd_per_hour").alias(f"best_{years}y_option"),
                pl.col(RULE).alias(f"overlay_best_{years}y_usd_per_hour"),
            )
        )
        offers = offers.drop(f"best_{years}y_usd_per_hour", f"best_{years}y_option").join(
            best, on=key, how="left"
        )
    return offers.select(*names, *(f"overlay_best_{years}y_usd_per_hour" for years in (1, 3)))


def _apply_rule(rows: pl.LazyFrame, rule: Rule) -> pl.LazyFrame:
    new = {name: _changed(rule, name) for name in ("hourly", "upfront", "effective_hourly")}
    applies = (
        matches(rule)
        & ~pl.col("__stopped")
        & pl.col("effective_hourly").is_not_null()
        & (new["effective_hourly"] > 0)
    ).fill_null(False)
    named = pl.concat_str(pl.col(RULE), pl.lit(rule.name), separator=", ", ignore_nulls=True)
    return rows.with_columns(
        *(
            pl.when(applies).then(price).otherwise(pl.col(name)).alias(name)
            for name, price in new.items()
        ),
        pl.when(applies).then(named).otherwise(pl.col(RULE)).alias(RULE),
        (pl.col("__stopped") | (applies & pl.lit(rule.stop))).alias("__stopped"),
    )


def _changed(rule: Rule, name: str) -> pl.Expr:
    """Return a price column after a rule. A fixed price has no upfront payment.

    A ``change`` applies to the hourly part; a discount beyond that reduces the upfront payment.
    """
    before = pl.col(name).cast(WideMoney)
    if rule.factor is not None:
        return (before * pl.lit(rule.factor).cast(WideMoney)).cast(Money)
    if rule.change is not None:
        change = pl.lit(rule.change).cast(WideMoney)
        hourly = pl.col("hourly").cast(WideMoney) + change
        is_short = (hourly < 0) & pl.col("upfront").is_not_null()
        if name == "hourly":
            return pl.when(is_short).then(0).otherwise(hourly).cast(Money)
        if name == "upfront":
            hours = (pl.col("term_months") * HOURS_PER_MONTH).cast(WideMoney)
            return pl.when(is_short).then(before + hourly * hours).otherwise(before).cast(Money)
        return (before + change).cast(Money)
    return pl.lit(None if name == "upfront" else rule.price).cast(Money)


def matches(rule: Rule) -> pl.Expr:
    """Return the condition that a rule matches a price.

    It needs the columns of MATCH_COLUMNS that the rule names; also ``currency`` if the rule has an
    amount, and ``term_months`` if it has the option ``commitment``.
    """
    conditions = [
        _any_of(pl.col(MATCH_COLUMNS[name]).cast(pl.String), patterns)
        | _is_commitment(name, patterns)
        for name, patterns in rule.match.items()
    ]
    if rule.factor is None:
        conditions.append(pl.col("currency") == rule.currency)
    return pl.all_horizontal(pl.lit(True), *conditions).fill_null(False)


def _is_commitment(name: str, patterns: tuple[str, ...]) -> pl.Expr:
    """Return the condition that a price has a term; false unless the option is ``commitment``."""
    asks = name == "option" and COMMITMENT in (pattern.lower() for pattern in patterns)
    return pl.col("term_months") > 0 if asks else pl.lit(False)


MAX_PATTERNS = 200
"""Patterns in one regular expression, whose compiled size is limited to 10 MB:
https://docs.rs/regex/latest/regex/struct.RegexBuilder.html#method.size_limit"""


def _any_of(value: pl.Expr, patterns: tuple[str, ...]) -> pl.Expr:
    """Return the condition that a text matches one of the patterns, ignoring case.

    Patterns without wildcards are looked up, because a long list needs too large an expression.
    """
    value = value.str.to_lowercase()
    plain = [pattern.lower() for pattern in patterns if not has_wildcard(pattern)]
    wild = [pattern.lower() for pattern in patterns if has_wildcard(pattern)]
    starts = range(0, len(wild), MAX_PATTERNS)
    parts = [_like(value, wild[start : start + MAX_PATTERNS]) for start in starts]
    return pl.any_horizontal(value.is_in(plain), *parts)


def _like(value: pl.Expr, patterns: list[str]) -> pl.Expr:
    """Return the condition that a text in lower case matches one of the patterns."""
    spelled = "|".join(f"(?:{fnmatch.translate(pattern)})" for pattern in patterns)
    # fnmatch writes for Python; polars' regular expressions have neither \Z nor atomic groups
    rust = spelled.replace(r"\Z", "$").replace(r"\z", "$").replace("(?>", "(?:")
    return value.str.contains(f"^(?:{rust})$")


def has_wildcard(text: str) -> bool:
    """Check whether a pattern has a wildcard.

    >>> has_wildcard("us-*"), has_wildcard("p5.48xlarge")
    (True, False)
    """
    return any(sign in text for sign in "*?[")


Match = Mapping[str, tuple[str, ...]]  # texts by key of ``match``

RELEASE_KEYS = ("provider", "region", "country", "family", "type", "accelerator")
"""Keys of ``match`` whose values depend on the release."""

PURCHASE_KEYS = ("option", "plan", "term", "os", "license", "tenancy")
MAX_WARNINGS = 8  # enough to notice that all rules are for another release

LABELS = {"type": "machine type", "os": "operating system"}
"""Keys of ``match`` that have another name in a sentence."""


def warn_unmatched(dataset: Tables, overlays: Overlays, names: ReleaseWords | None = None) -> None:
    """Warn of the rules in effect that can match no price of the release.

    Warns once for each text that no price has, with similar texts, and once for each rule whose
    texts no price has together.

    ``names``: the names of the release, if already read.
    """
    for count, line in enumerate(unmatched(dataset, overlays, names or ReleaseWords(dataset))):
        if count == MAX_WARNINGS:
            text = "more such rules are not named: are they for another dataset?"
            warnings.warn(text, HwpricesWarning, stacklevel=3)
            return
        warnings.warn(escaped(line), HwpricesWarning, stacklevel=3)


def unmatched(dataset: Tables, overlays: Overlays, names: ReleaseWords) -> Iterator[str]:
    """Yield a sentence for each text of a rule in effect that no price of the release has.

    Also for each rule that leaves list prices as they are because nothing would be left of them.
    """
    conditional = [rule for rule in overlays.active if rule.match or rule.factor is None]
    if not conditional:
        return
    machines, purchases = _sold(dataset)
    for rule in conditional:
        unknown = list(_unknown(rule, machines))
        for key, text, is_all in unknown:
            hint = _hint(key, text, names, machines)
            nothing = "; the rule changes nothing" if is_all else ""
            yield (
                f"{overlays.file}:{rule.line}: {rule.name}: no price of this release has the"
                f" {LABELS.get(key, key)} {text!r}{nothing}." + (f" {hint}" if hint else "")
            )
        if not unknown and (texts := _not_together(rule, machines, purchases)):
            together = "together: " if "," in texts else ""
            yield (
                f"{overlays.file}:{rule.line}: {rule.name}: no price of this release has"
                f" {together}{texts}; the rule changes nothing."
            )
        elif not unknown and (count := _too_low(dataset, rule)):
            yield (
                f"{overlays.file}:{rule.line}: {rule.name}: {counted(count, 'list price')} of this"
                " release would be zero or less, and keep their amounts."
            )


def _sold(dataset: Tables) -> tuple[pl.DataFrame, pl.DataFrame]:
    """List the machines with a price, by place, and the purchase options of each cloud.

    Both have columns of MATCH_COLUMNS; the purchase options also have ``currency``.
    """
    purchase = ["provider", "currency", *(MATCH_COLUMNS[key] for key in PURCHASE_KEYS)]
    prices = dataset.scan("prices").filter(pl.col("effective_hourly").is_not_null())
    sold = described(dataset, prices.select("provider", "region", "instance_type").unique())
    machines, purchases = pl.collect_all([sold, prices.select(purchase).unique()])
    return machines, purchases


def described(dataset: Tables, prices: pl.LazyFrame) -> pl.LazyFrame:
    """Add the columns of machines and regions that rules match: family, accelerator_id, country."""
    place, machine = ["provider", "region"], ["provider", "instance_type"]
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    types = dataset.scan("instance_types").select(*machine, "family", accelerator_id=first)
    regions = dataset.scan("regions").select(*place, "country")
    with_types = prices.join(types, on=machine, how="left", maintain_order="left")
    return with_types.join(regions, on=place, how="left", maintain_order="left")


def _too_low(dataset: Tables, rule: Rule) -> int:
    """Count the list prices of which a rule's negative amount would leave nothing."""
    if rule.change is None or rule.change >= 0:
        return 0
    low = dataset.scan("prices").filter(pl.col("effective_hourly") <= pl.lit(-rule.change))
    matching = described(dataset, low).filter(matches(rule))
    return int(matching.select(pl.len()).collect().item())


def _unknown(rule: Rule, machines: pl.DataFrame) -> Iterator[tuple[str, str, bool]]:
    """Yield the texts of a rule that no price has: key, text, and whether all of the key are."""
    for key in RELEASE_KEYS:
        texts = rule.match.get(key, ())
        values = machines[MATCH_COLUMNS[key]].drop_nulls().unique().str.to_lowercase().to_list()
        exact = set(values)
        missing = [
            text
            for text in texts
            if text.lower() not in exact
            and not (has_wildcard(text) and fnmatch.filter(values, text.lower()))
        ]
        for text in missing:
            yield key, text, len(missing) == len(texts)


def _not_together(rule: Rule, machines: pl.DataFrame, purchases: pl.DataFrame) -> str:
    """Write the texts of a rule that no price has together; empty if a price has them."""
    machine, purchase = _part(rule, RELEASE_KEYS), _part(rule, ("provider", *PURCHASE_KEYS))
    percentage = replace(rule, match=machine, factor=Decimal(1))  # matches any currency
    if machines.filter(matches(percentage)).is_empty():
        return _listed(machine)
    if purchases.filter(matches(replace(rule, match=purchase))).is_empty():
        currency = {} if rule.factor is not None else {"currency": (rule.currency,)}
        return _listed({**purchase, **currency})
    return ""


def _part(rule: Rule, keys: tuple[str, ...]) -> Match:
    return {key: texts for key, texts in rule.match.items() if key in keys}


def _listed(match: Match) -> str:
    return ", ".join(f"{LABELS.get(key, key)} {' or '.join(texts)}" for key, texts in match.items())


def _hint(key: str, text: str, names: ReleaseWords, machines: pl.DataFrame) -> str:
    """Suggest what a text that no price has may mean; empty if nothing is similar."""
    sold = machines[MATCH_COLUMNS[key]].drop_nulls().unique().sort().to_list()
    meant: list[str] = []
    if key == "provider":
        meant = sorted(words.providers(text.lower(), names))
        if not meant:
            return words.which_provider(text.strip("*"), names)
    elif key == "country":
        code = country_code(text, names.countries)
        return f"Write {code}." if code and code != text.upper() else ""
    elif key == "type" and text in machines["family"]:
        return f"It is a family: write family: {text}."
    elif key == "accelerator":
        meant = [id_ for id_ in words.accelerators(text.lower(), names.accelerators) if id_ in sold]
    return f"Did you mean {', '.join(meant)}?" if meant else did_you_mean(text.strip("*"), sold)
