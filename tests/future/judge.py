"""Stage a world, and judge its prices by those of the world before it was changed."""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.rows import frames
from hwprices.schemas.tables import TABLES
from hwprices.specs import sheets
from hwprices.stage import Staged, inputs, stage
from hwprices.storage.store import Store
from tests.future.mutations import Future
from tests.future.pages import World

FIGURES = ["hourly", "upfront", "effective_hourly", "price_reason", "basis", "billing_unit"]
"""Columns of a price that have to stay to the last digit."""

AMOUNTS = ("hourly", "upfront")

HOURS_PER_YEAR = 8760

ROUNDING = Decimal("0.00000001")
"""Ten decimals of a price, a hundredfold: effective prices are quotients."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What staging a world gave: prices by id, refused rows, or the error that stopped it."""

    prices: Mapping[str, Row]
    refused: tuple[Row, ...]
    staged: Staged | None
    error: str = ""

    @cached_property
    def priced(self) -> dict[str, Row]:
        """The prices that have an amount."""
        return {i: row for i, row in self.prices.items() if row["effective_hourly"] is not None}

    @property
    def counted(self) -> dict[str, int]:
        """Lines that are not published, by reason or by what they are."""
        assert self.staged is not None
        return {**self.staged.quarantined, **self.staged.accounted}

    @property
    def troubles(self) -> str:
        """Why units could not be read."""
        assert self.staged is not None
        return "; ".join(trouble.reason for trouble in self.staged.troubles)


class Stager:
    """Stage worlds. Equal ones are staged once, and the sheets and the program are read once."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Outcome] = {}
        self._once = {
            name: cache(function)
            for name, function in {
                "hwprices.specs.sheets.load": sheets.load,
                "hwprices.providers.gcp.sheets.load": sheets.load,
                "hwprices.stage.inputs.reading": inputs.reading,
            }.items()
        }

    def stage(self, world: World) -> Outcome:
        """Land a world, normalise and stage it."""
        digest = hashlib.sha256(world.provider.encode())
        for document, body in zip(world.documents, world.bodies, strict=True):
            digest.update(document.unit.name.encode() + body)
        key = digest.hexdigest()
        if key not in self._outcomes:
            patches = [patch(name, function) for name, function in self._once.items()]
            for one in patches:
                one.start()
            try:
                self._outcomes[key] = _staged(world)
            finally:
                for one in patches:
                    one.stop()
        return self._outcomes[key]


def _staged(world: World) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        landing, run = world.land(Path(folder) / "raw")
        try:
            done = stage(providers.get(world.provider), run, landing, Store(folder), keep=1)
        except HwpricesError as error:
            return Outcome({}, (), None, error.message)
        tables = {}
        for name in ("prices", "quarantine"):
            files = [Path(folder) / done.directory / file.key for file in done.of(name)]
            read = [pl.read_parquet(file, hive_partitioning=False) for file in files]
            tables[name] = pl.concat([frames.empty(TABLES[name]), *read])
        prices = {row["price_id"]: row for row in tables["prices"].to_dicts()}
        return Outcome(prices, tuple(tables["quarantine"].to_dicts()), done)


@dataclass(frozen=True)
class Verdict:
    """How a provider took a change, and the first thing that is wrong with it."""

    word: str
    detail: str = ""


OK = "ok"
LOST = "provider lost"
CHANGED = "known rows changed"
INVENTED = "price invented"
UNNAMED = "not named"


def judge(base: Outcome, future: Future, got: Outcome, rest: Outcome | None) -> Verdict:
    """Judge what came of a change.

    Args:
        base: of the pages before.
        future: the change.
        got: of the pages after.
        rest: of the pages without the lines that were changed; None where none was.
    """
    if got.staged is None:
        return Verdict(LOST, got.error)
    wrong = _changed(base, got, rest) or _invented(base, got, future) or _unnamed(base, got, future)
    return wrong or Verdict(OK, _how(base, got, future))


def _changed(base: Outcome, got: Outcome, rest: Outcome | None) -> Verdict | None:
    """Find a price that does not depend on what was changed, and is gone or another one."""
    known = base.prices if rest is None else rest.priced
    for price_id, row in known.items():
        before = base.prices.get(price_id)
        if before is None or not _same(before, row):
            continue
        after = got.prices.get(price_id)
        if after is None or not _same(row, after):
            gone = sum(1 for i in known if i not in got.prices)
            return Verdict(
                CHANGED, f"{_text(row)} became {_text(after)} ({gone} of {len(known)} gone)"
            )
    return None


def _invented(base: Outcome, got: Outcome, future: Future) -> Verdict | None:
    """Find a price that no line states."""
    keys = {_key(row): row for row in base.priced.values()}
    for price_id, row in got.priced.items():
        before = base.prices.get(price_id)
        if before is not None:
            allowed = [1, future.factor] if future.rest is not None else [1]
            right = any(_is_times(row, before, factor) for factor in allowed)
        else:
            twin = next((keys[k] for k in _origins(row, future.words) if k in keys), None)
            right = twin is not None and _is_times(row, twin, future.factor)
        if not right:
            return Verdict(INVENTED, f"{_text(row)} where it was {_text(before)}")
    return None


def _unnamed(base: Outcome, got: Outcome, future: Future) -> Verdict | None:
    """Find a loss that nobody is told of, or a new word that is not listed as one.

    A reason that is not in the vocabulary stops the provider when it is staged.
    """
    renamed = {k for row in got.priced.values() for k in _origins(row, future.words)}
    lost = [i for i, r in base.priced.items() if i not in got.priced and _key(r) not in renamed]
    is_added = future.rest is None and not any(i not in base.prices for i in got.priced)
    if future.must_name and (lost or is_added) and not _names(base, got, future):
        return Verdict(UNNAMED, f"{len(lost)} prices gone, {_difference(base, got)}")
    is_silent = got.counted == base.counted and not got.troubles
    if is_silent and not all(i in got.prices for i in lost):
        return Verdict(UNNAMED, f"{len(lost)} prices gone, {_difference(base, got)}")
    return None


def _names(base: Outcome, got: Outcome, future: Future) -> list[str]:
    """List the words in quarantine, or in the error of a page, that tell of the change."""
    before = {(row["reason"], row["word"]) for row in base.refused}
    named = [
        f"{row['reason']}: {row['word']}"
        for row in got.refused
        if row["word"] is not None
        and (row["reason"], row["word"]) not in before
        and any(new.lower() in f"{row['word']} {row['row']}".lower() for new in future.new)
    ]
    return named + [got.troubles] * any(text in got.troubles for text in future.new)


def _how(base: Outcome, got: Outcome, future: Future) -> str:
    new = sum(1 for i in got.priced if i not in base.prices)
    lost = sum(1 for i in base.priced if i not in got.priced)
    return f"{new} new prices, {lost} refused; {'; '.join(_names(base, got, future)[:2])}"


def _difference(base: Outcome, got: Outcome) -> str:
    counts = {k: v for k, v in got.counted.items() if v != base.counted.get(k)}
    return f"counted as {counts}, {got.troubles}"[:300]


def _same(one: Row, other: Row) -> bool:
    return all(one[name] == other[name] for name in FIGURES)


def _is_times(row: Row, twin: Row, factor: int) -> bool:
    """Tell whether a row costs a multiple of another, by the hour or over its term."""
    months, of_twin = (max(r["term_months"], 1) for r in (row, twin))
    total, expected = row["effective_hourly"] * months, twin["effective_hourly"] * of_twin
    if row["upfront"] is not None and row["hourly"]:
        fee = row["upfront"] * 12 / (row["term_months"] * HOURS_PER_YEAR)
        is_sum = abs(row["hourly"] + fee - row["effective_hourly"]) <= ROUNDING
        fits = is_sum and all(_times(row[name], twin[name], factor) for name in AMOUNTS)
    else:
        by_hour = _times(row["effective_hourly"], twin["effective_hourly"], factor)
        fits = by_hour or abs(total - expected * factor) <= ROUNDING * months * HOURS_PER_YEAR
    # What is made of added parts and known ones (a license) costs more, and less than all the more.
    is_between = any(
        low < amount < low * factor
        for low, amount in ((expected, total), (twin["effective_hourly"], row["effective_hourly"]))
    )
    is_mixed = row["basis"] != "listed" and is_between
    return fits or (factor > 1 and is_mixed)


def _times(amount: Decimal | None, of: Decimal | None, factor: int) -> bool:
    if amount is None or of is None:
        return amount is of
    return abs(amount - of * factor) <= ROUNDING


def _key(row: Row) -> tuple[str, ...]:
    names = ("region", "zone", "instance_type", "os", "software", "license_model", "tenancy")
    how = ("purchase_option", "commitment_plan", "term_months", "payment_option", "currency")
    return tuple(str(row[name]) for name in (*names, *how))


def _origins(row: Row, words: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the keys that a row with new words may have been copied from."""
    key = _key(row)
    plain = tuple(_old(text, words) for text in key)
    yield plain
    yield tuple("36" if text == "60" else text for text in plain)


def _old(text: str, words: Mapping[str, str]) -> str:
    for new, old in words.items():
        if new and new in text and not new.isdigit():
            text = text.replace(new, old)
    return text


def _text(row: Row | None) -> str:
    if row is None:
        return "nothing"
    return f"{' '.join(_key(row))} {row['hourly']} {row['upfront']} {row['price_reason'] or ''}"
