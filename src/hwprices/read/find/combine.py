"""Combine what the words of a question ask for with what its options ask for: both must hold."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from hwprices.errors import HwpricesError
from hwprices.read.find import words
from hwprices.read.find.search import COMMITMENT, NO_ACCELERATOR, Search
from hwprices.read.find.vocabulary import ReleaseWords

WITH_TERM = frozenset({"reserved", "savings_plan", "committed_use"})
"""The purchase options that COMMITMENT represents."""

ACCELERATORS = ("accelerators", "unknown_accelerators", "accelerator_kinds")
"""Fields of a search of which any will do."""


def combine(asked: Search, options: Search, given: Collection[str], names: ReleaseWords) -> Search:
    """Return the search that finds what both searches find.

    Args:
        asked: what the words ask for, as ``words.understand`` returns it.
        options: what the options ask for.
        given: names of the fields of ``options`` that were given, be it with the usual value.
        names: what words may mean in the release.

    Raises:
        HwpricesError: nothing can be both.
    """
    singles: dict[str, Any] = {
        name: _one_value(name, asked, options, given) for name in words.ONE_VALUE
    }
    return replace(
        options,
        **singles,
        **_accelerators(asked, options, names),
        machines=_both(asked.machines, options.machines, "machine type", unset=None),
        regions=_both(asked.regions, options.regions, "place", unset=None),
        providers=_both(asked.providers, options.providers, "provider"),
        purchase_options=_purchase_options(asked.purchase_options, options.purchase_options),
        terms=_both(asked.terms, options.terms, "term"),
        payments=asked.payments,
    )


def _nothing(thing: str) -> HwpricesError:
    return HwpricesError(
        f"the words and the options ask for no {thing} in common", "Ask for it in one of the two."
    )


def _one_value(name: str, asked: Search, options: Search, given: Collection[str]) -> object:
    value, other = getattr(asked, name), getattr(options, name)
    if value == getattr(words.NOTHING_ASKED, name):
        return other
    if name in given and other not in (None, value):
        raise words.more_than_one(name)
    return value


def _both(asked: Any, options: Any, thing: str, unset: Any = frozenset()) -> Any:
    """Return what is in both sets, or one of them where the other is ``unset``."""
    if asked == unset:
        return options
    if options == unset:
        return asked
    if not asked & options:
        raise _nothing(thing)
    return asked & options


def _purchase_options(asked: frozenset[str], options: frozenset[str]) -> frozenset[str]:
    if asked and options:
        asked, options = _with_term(asked), _with_term(options)
    return frozenset(_both(asked, options, "purchase option"))


def _with_term(options: frozenset[str]) -> frozenset[str]:
    """Add the purchase options that COMMITMENT represents."""
    return options | WITH_TERM if COMMITMENT in options else options


def _accelerators(asked: Search, options: Search, names: ReleaseWords) -> dict[str, Any]:
    """Combine ids, machines with an accelerator without id, and kinds, of which any will do."""
    if not _names_any(asked):
        return {}  # those of the options stay
    if not _names_any(options):
        return {name: getattr(asked, name) for name in ACCELERATORS}
    both = ((asked, options), (options, asked))
    ids = frozenset(
        key
        for one, other in both
        for key in one.accelerators
        if key in other.accelerators or _is_of(other, names.kinds_of(frozenset({key}), frozenset()))
    )
    unknown = frozenset(
        machine
        for one, other in both
        for machine in one.unknown_accelerators
        if machine in other.unknown_accelerators
        or _is_of(other, names.kinds_of(frozenset(), frozenset({machine})))
    )
    kinds = asked.accelerator_kinds & options.accelerator_kinds
    if not (ids or unknown or kinds):
        raise _nothing("accelerator")
    return {"accelerators": ids, "unknown_accelerators": unknown, "accelerator_kinds": kinds}


def _names_any(search: Search) -> bool:
    return any(getattr(search, name) for name in ACCELERATORS)


def _is_of(search: Search, kinds: set[str]) -> bool:
    """Return whether a device of these kinds is of a kind that the search names."""
    named = search.accelerator_kinds - {NO_ACCELERATOR}
    return bool(named & kinds) or words.ANY_ACCELERATOR in named
