"""State which rules of own discounts can match no price of a release, and why.

A misspelled option or term is an error when the file of rules is read. Providers, places, machine
types and accelerators are those of a release, and a file of rules may rightly name some that this
release does not have: a type that is sold since yesterday, or a cloud that another root holds. So
they are warnings.
"""

import fnmatch
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

import polars as pl

from hwprices.errors import HwpricesWarning
from hwprices.hidden_characters import escaped
from hwprices.read.find import places, words
from hwprices.read.find.suggestions import did_you_mean
from hwprices.read.find.vocabulary import ReleaseWords
from hwprices.read.overlays import apply
from hwprices.read.overlays.rules import MATCH_COLUMNS, Overlays, Rule
from hwprices.release.release import Tables

Match = Mapping[str, tuple[str, ...]]  # Key of ``match``: its texts

OF_RELEASE = ("provider", "region", "country", "family", "type", "accelerator")
"""Keys of ``match`` whose values are those of a release."""

OF_PURCHASE = ("option", "plan", "term", "os", "license", "tenancy")
MAX_WARNINGS = 8  # Rules may be written for another release altogether; the first lines say so

LABELS = {"type": "machine type", "os": "operating system"}
"""What a key of ``match`` is called in a sentence, where it is called otherwise."""


def warn_unmatched(dataset: Tables, overlays: Overlays, names: ReleaseWords | None = None) -> None:
    """Warn of the rules in effect that can match no price of the release.

    One HwpricesWarning for each text that no price has, with texts spelled alike, and one for each
    rule whose texts no price has together.

    Args:
        dataset: the release.
        overlays: the rules and the day.
        names: those of the release, where they are at hand.
    """
    for count, line in enumerate(unmatched(dataset, overlays, names or ReleaseWords(dataset))):
        if count == MAX_WARNINGS:
            text = "more such rules are not named: are they for another dataset?"
            warnings.warn(text, HwpricesWarning, stacklevel=3)
            return
        warnings.warn(escaped(line), HwpricesWarning, stacklevel=3)


def unmatched(dataset: Tables, overlays: Overlays, names: ReleaseWords) -> Iterator[str]:
    """Write a sentence for each text of a rule in effect that no price of the release has."""
    asking = [rule for rule in overlays.in_force if rule.match or rule.factor is None]
    if not asking:
        return
    machines, purchases = _sold(dataset)
    for rule in asking:
        unknown = list(_unknown(rule, machines))
        for key, text, is_all in unknown:
            hint = _hint(key, text, names, machines)
            nothing = "; the rule changes nothing" if is_all else ""
            yield (
                f"{overlays.file}:{rule.line}: {rule.name}: no price of this release has the"
                f" {LABELS.get(key, key)} {text!r}{nothing}." + (f" {hint}" if hint else "")
            )
        if not unknown and (asked := _not_together(rule, machines, purchases)):
            together = "together: " if "," in asked else ""
            yield (
                f"{overlays.file}:{rule.line}: {rule.name}: no price of this release has"
                f" {together}{asked}; the rule changes nothing."
            )


def _sold(dataset: Tables) -> tuple[pl.DataFrame, pl.DataFrame]:
    """List the machines that have a price, by place, and the purchase options that each cloud has.

    Their columns are those of MATCH_COLUMNS, and of the ways also ``currency``.
    """
    place, machine = ["provider", "region"], ["provider", "instance_type"]
    ways = ["provider", "currency", *(MATCH_COLUMNS[key] for key in OF_PURCHASE)]
    prices = dataset.scan("prices").filter(pl.col("effective_hourly").is_not_null())
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    types = dataset.scan("instance_types").select(*machine, "family", accelerator_id=first)
    regions = dataset.scan("regions").select(*place, "country")
    sold = (
        prices.select("provider", "region", "instance_type")
        .unique()
        .join(types, on=machine, how="left")
        .join(regions, on=place, how="left")
    )
    machines, purchases = pl.collect_all([sold, prices.select(ways).unique()])
    return machines, purchases


def _unknown(rule: Rule, machines: pl.DataFrame) -> Iterator[tuple[str, str, bool]]:
    """Find the texts of a rule that no price has: key, text, and whether its key has no other."""
    for key in OF_RELEASE:
        texts = rule.match.get(key, ())
        values = machines[MATCH_COLUMNS[key]].drop_nulls().unique().str.to_lowercase().to_list()
        exact = set(values)
        missing = [
            text
            for text in texts
            if text.lower() not in exact
            and not (apply.has_wildcard(text) and fnmatch.filter(values, text.lower()))
        ]
        for text in missing:
            yield key, text, len(missing) == len(texts)


def _not_together(rule: Rule, machines: pl.DataFrame, purchases: pl.DataFrame) -> str:
    """Write the texts of a rule that prices have one by one and not together; empty if they do."""
    of_machines = _part(rule, OF_RELEASE)
    of_purchases = _part(rule, ("provider", *OF_PURCHASE))
    percentage = replace(rule, match=of_machines, factor=Decimal(1))  # asks for no currency
    if machines.filter(apply.matches(percentage)).is_empty():
        return _listed(of_machines)
    if purchases.filter(apply.matches(replace(rule, match=of_purchases))).is_empty():
        currency = {} if rule.factor is not None else {"currency": (rule.currency,)}
        return _listed({**of_purchases, **currency})
    return ""


def _part(rule: Rule, keys: tuple[str, ...]) -> Match:
    return {key: texts for key, texts in rule.match.items() if key in keys}


def _listed(match: Match) -> str:
    return ", ".join(f"{LABELS.get(key, key)} {' or '.join(texts)}" for key, texts in match.items())


def _hint(key: str, text: str, names: ReleaseWords, machines: pl.DataFrame) -> str:
    """Write what a text may mean that no price has; empty where nothing is like it."""
    sold = machines[MATCH_COLUMNS[key]].drop_nulls().unique().sort().to_list()
    meant: list[str] = []
    if key == "provider":
        meant = sorted(words.providers(text.lower(), names))
        if not meant:
            return words.which_provider(text.strip("*"), names)
    elif key == "country":
        code = places.country_code(text, names.countries)
        return f"Write {code}." if code and code != text.upper() else ""
    elif key == "type" and text in machines["family"]:
        return f"It is a family: write family: {text}."
    elif key == "accelerator":
        meant = [id_ for id_ in words.accelerators(text.lower(), names.accelerators) if id_ in sold]
    return f"Did you mean {', '.join(meant)}?" if meant else did_you_mean(text.strip("*"), sold)
