"""Say in a line which units of a collection were not fetched, why, and what is kept instead."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from hwprices.collect import record
from hwprices.release.manifest import Trouble
from hwprices.release.wording import counted
from hwprices.stage.stage import Staged

NOT_FETCHED = ("failed", "carried")
"""Statuses of units that should have been fetched; skipped ones have nothing to fetch."""

SHOWN = 4
"""Most reasons in a line; ``hwprices status`` lists every unit."""

STATUS_CODE = re.compile(r"HTTP (\d{3})\b|\b(\d{3}) (?:GET|POST)\b|\((\d{3})\)")
"""How our client, Google's and boto3's name the status of a vendor's answer."""

MAX_REASON = 120  # characters


def has_no_prices(staged: Staged) -> bool:
    """Tell whether the collection asked for prices, and not one unit of them was fetched."""
    counts = staged.price_units
    return not counts.get("ok") and any(counts.get(status) for status in NOT_FETCHED)


def line(staged: Staged) -> str:
    """Describe what was not fetched; empty if everything was.

    ``3 of 5 price units failed (HTTP 500); prices of 2026-11-24 kept``
    """
    missing = [trouble for trouble in staged.troubles if trouble.status in NOT_FETCHED]
    prices = [trouble for trouble in missing if trouble.holds_prices]
    others = [trouble for trouble in missing if not trouble.holds_prices]
    other_units = Counter(staged.units)
    other_units.subtract(staged.price_units)
    parts = [*_parts("price", prices, staged.price_units), *_parts("other", others, other_units)]
    return "; ".join(parts)


def _parts(name: str, missing: Collection[Trouble], units: Mapping[str, int]) -> Iterator[str]:
    requested = [trouble for trouble in missing if trouble.requested]
    total = sum(count for status, count in units.items() if status not in UNCOUNTED)
    if requested:
        of_all = f"{len(requested)} of {counted(total, f'{name} unit')}"
        yield f"{of_all} failed ({_reasons(requested)})"
    if earlier := len(missing) - len(requested):
        yield f"{counted(earlier, f'{name} unit')} failed in an earlier run"
    days = sorted({_day(trouble.carried_from) for trouble in missing if trouble.carried_from})
    if days:
        kept = "prices" if name == "price" else "pages"
        yield f"{kept} of {' to '.join(dict.fromkeys((days[0], days[-1])))} kept"


UNCOUNTED = ("skipped", "not_requested")
"""Statuses of units that a run did not try to fetch, or that hold nothing."""


def _reasons(missing: Collection[Trouble]) -> str:
    """List the reasons, the most frequent first; those about one unit's content name it."""
    reasons = [reason for reason, _ in Counter(map(_reason, missing)).most_common()]
    more = f", and {len(reasons) - SHOWN} more: hwprices status" if reasons[SHOWN:] else ""
    return ", ".join(reasons[:SHOWN]) + more


def _reason(trouble: Trouble) -> str:
    provider = trouble.unit.partition("/")[0]
    if trouble.reason.startswith(trouble.unit):  # what the vendor sent for this unit
        return _first_sentence(trouble.reason.removeprefix(f"{provider}/"))
    if code := STATUS_CODE.search(trouble.reason):
        return f"HTTP {next(filter(None, code.groups()))}"
    return _first_sentence(trouble.reason)


def _first_sentence(text: str) -> str:
    sentence = text.partition(". ")[0].rstrip(".")
    return sentence if len(sentence) <= MAX_REASON else f"{sentence[: MAX_REASON - 2]} …"


def _day(run_id: str) -> str:
    began = record.started_at(run_id)
    return f"{began:%Y-%m-%d}" if began else run_id
