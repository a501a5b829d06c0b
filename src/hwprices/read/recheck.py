"""Compare citations with a later release: whether each price is the same, moved, or is gone."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from hwprices.read import past
from hwprices.read.citation import CitedPrice, utc_text
from hwprices.read.explain import components_of
from hwprices.release.versions import read_manifest, version_time, versions
from hwprices.release.wording import plain, why_unknown

if TYPE_CHECKING:
    from hwprices.release.release import Release

Status = Literal["SAME", "MOVED", "GONE", "RESTATED", "UNREACHABLE", "ALTERED"]

EXIT_STATUS: dict[Status, int] = {
    "SAME": 0,
    "MOVED": 1,
    "GONE": 1,
    "RESTATED": 1,
    "UNREACHABLE": 2,
    "ALTERED": 2,
}
"""What a recheck ends with; of several citations the highest counts."""

PARTLY_OURS = ("restated", "changed_and_restated", "unclear")
"""Reasons of an interval's start or end that are not the vendor's alone."""

READING_PARTS = {
    "code": "the program that reads the pages",
    "sheets": "the rule sheets",
    "corrections": "the corrections in data/corrections.yaml",
}
"""Parts of a ``Reading``: what each is called in a reason."""


@dataclass(frozen=True, kw_only=True)
class Recheck:
    """What became of one cited price, as of ``release`` or, of a live answer, of now.

    Attributes:
        status: SAME; MOVED, the vendor changed it; GONE, the vendor no longer sells it; RESTATED,
            we corrected our reading; UNREACHABLE, nobody can tell; ALTERED, the citation is not the
            one that was written.
        reference: the citation.
        release: the release it was compared with.
        amount: what it is now, in the currency of the citation; None where it is not known.
        since: since when it has been so: the time of a release.
        last_day: of a price that is gone, when its last page was fetched.
        reason: why, in a sentence; empty where the status says it all.
    """

    status: Status
    reference: CitedPrice
    release: str = ""
    amount: Decimal | None = None
    since: datetime | None = None
    last_day: datetime | None = None
    reason: str = ""

    def __str__(self) -> str:
        """Return one line: the status, the price, and what is different."""
        then = f"{plain(self.reference.amount)} {self.reference.currency}/h"
        now = f"{plain(self.amount)} {self.reference.currency}/h" if self.amount else "not known"
        since = f" since {self.since:%Y-%m-%d}" if self.since else ""
        text = {
            "SAME": then,
            "MOVED": f"{then} -> {now}{since}",
            "RESTATED": f"{then} -> {now}{since}",
            "GONE": f"{then}, last seen on {self.last_day:%Y-%m-%d}" if self.last_day else then,
        }.get(self.status, then)
        return f"{self.status} {self.reference.price_id} {text}" + (
            f" ({self.reason})" if self.reason else ""
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, those of the reference as cited_…, as ``--json`` of the command."""
        cited = {f"cited_{name}": value for name, value in asdict(self.reference).items()}
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        del values["reference"], cited["cited_intact"]
        price_id = cited.pop("cited_price_id")
        amounts = {"cited_amount": plain(self.reference.amount), "amount": plain(self.amount)}
        times = {name: utc_text(values[name]) for name in ("since", "last_day")}
        return {"price_id": price_id, **cited, **values, **amounts, **times}


def recheck(dataset: "Release", references: Sequence[CitedPrice]) -> list[Recheck]:
    """Compare citations with a release of the same dataset, in their order.

    Raises:
        HwpricesError: the release has no price history.
    """
    ids = {reference.price_id for reference in references}
    rows = past.table(dataset).filter(pl.col("price_id").is_in(sorted(ids)))
    columns = ["price_id", *INTERVAL]
    found = rows.select(columns).sort("price_id", "valid_from").collect()
    by_id = found.partition_by("price_id", as_dict=True, include_key=False)
    none = found.clear().drop("price_id")
    return [
        _one(dataset, reference, by_id.get((reference.price_id,), none).to_dicts())
        for reference in references
    ]


INTERVAL = (
    *("provider", "effective_hourly", "price_reason", "valid_from", "valid_to", "state"),
    *("start_reason", "end_reason", "observed_last", "waits_for"),
)
"""Columns of price_history that tell what became of a price."""


def _one(dataset: "Release", reference: CitedPrice, rows: list[dict[str, Any]]) -> Recheck:
    """Compare one citation; ``rows`` are all intervals of its price, oldest first."""
    at = version_time(reference.release)
    later = [row for row in rows if row["valid_to"] is None or row["valid_to"] > at]
    found = _problem(dataset, reference, later) or _outcome(dataset, reference, later)
    return replace(found, release=dataset.version)


def _problem(
    dataset: "Release", reference: CitedPrice, later: list[dict[str, Any]]
) -> Recheck | None:
    """State why a citation cannot be compared, or None. ``later`` are intervals since then."""
    at = version_time(reference.release)
    if not reference.intact:
        status: Status = "ALTERED"
        reason = "its check does not fit its text: copy it again"
    elif version_time(dataset.version) < at:
        status, reason = "UNREACHABLE", f"release {dataset.version} is older than the citation"
    elif not later or later[0]["valid_from"] > at:
        status, reason = "UNREACHABLE", f"the history has no such price at {reference.release}"
    elif later[0]["effective_hourly"] != reference.amount:
        was = plain(later[0]["effective_hourly"]) or why_unknown(later[0]["price_reason"])
        status, reason = "ALTERED", f"the history has {was} at {reference.release}"
    else:
        return None
    return Recheck(status=status, reference=reference, reason=reason)


def _outcome(dataset: "Release", reference: CitedPrice, later: list[dict[str, Any]]) -> Recheck:
    """Describe what became of a price. The first of ``later`` is the interval that was cited."""
    now = later[-1]
    steps = [
        row
        for before, row in pairwise(later)
        if row["effective_hourly"] != before["effective_hourly"]
    ]
    is_ours = all(row["start_reason"] == "restated" for row in steps)
    reasons = [_our_reason(dataset, row) for row in steps if row["start_reason"] in PARTLY_OURS]
    answer = Recheck(status="SAME", reference=reference, since=now["valid_from"])
    if now["state"] == "ended":
        if now["end_reason"] in PARTLY_OURS:
            reasons.append(_our_reason(dataset, now))
        return replace(
            answer,
            status="RESTATED" if now["end_reason"] == "restated" else "GONE",
            since=now["valid_to"],
            last_day=now["observed_last"],
            reason=_joined(reasons),
        )
    if now["state"] != "current":
        waits = f", waiting for {now['waits_for']}" if now["waits_for"] else ""
        reason = f"{now['state']}{waits}; last seen on {now['observed_last']:%Y-%m-%d}"
        return replace(answer, status="UNREACHABLE", since=None, reason=reason)
    if now["effective_hourly"] == reference.amount:
        reason = "it moved and came back" if steps else ""
        return replace(answer, amount=reference.amount, reason=reason)
    if now["price_reason"]:
        reasons.append(why_unknown(now["price_reason"]))
    return replace(
        answer,
        status="RESTATED" if is_ours else "MOVED",
        amount=now["effective_hourly"],
        reason=_joined(reasons),
    )


def of_vendor(
    known: Recheck, amount: Decimal | None, re_read: Decimal | None, at: datetime
) -> Recheck:
    """Compare a citation with what the vendor says now.

    Args:
        known: how it compares with the release that the vendor was asked about.
        amount: the vendor's price now; None where it no longer lists it.
        re_read: what the installed program reads from the pages of that release; None if they are
            gone.
        at: when the vendor was asked.
    """
    answer = replace(known, release="live", amount=amount, since=at, last_day=None, reason="")
    if amount is None:
        return replace(answer, status="GONE", reason="the vendor no longer lists it")
    if amount == known.reference.amount:
        return replace(answer, status="SAME", since=None)
    if amount == known.amount:
        return replace(known, release="live")
    if amount == re_read and known.status in ("SAME", "RESTATED"):
        reason = "this program reads the pages of the release in another way"
        return replace(answer, status="RESTATED", reason=reason)
    return replace(answer, status="MOVED")


def place_of(dataset: "Release", price_id: str) -> dict[str, Any] | None:
    """Return where a price is read from; None where no release had it.

    Keys: price_id, provider, region, instance_type; units, the units of collection (kind/region)
    that are known to have it; pages, the SHA-256 of its landed pages.
    """
    columns = ("price_id", "provider", "region", "instance_type")
    rows = past.table(dataset).filter(pl.col("price_id") == price_id).sort("valid_from")
    found = rows.select(*columns, "collection_unit", "raw_sha256").tail(1).collect()
    if found.is_empty():
        return None
    row = found.row(0, named=True)
    components = components_of(dataset, row)
    pages = components["raw_sha256"].to_list() if components.height else [row["raw_sha256"]]
    unit = row["collection_unit"]
    return {
        **{name: row[name] for name in columns},
        "units": (unit,) if unit else (),
        "pages": tuple(dict.fromkeys(pages)),
    }


def _joined(reasons: list[str]) -> str:
    return "; ".join(dict.fromkeys(reasons))


def _our_reason(dataset: "Release", row: dict[str, Any]) -> str:
    """Describe which part of our reading changed at a step that is not the vendor's alone."""
    is_end = row["end_reason"] in PARTLY_OURS
    code = row["end_reason"] if is_end else row["start_reason"]
    if code == "unclear":
        return "vendor's data and our reading both changed, and the older pages are gone"
    at = row["valid_to" if is_end else "valid_from"]
    parts = _parts_that_changed(dataset, row["provider"], at)
    what = " and ".join(READING_PARTS[part] for part in parts) or "our reading of the pages"
    return f"we changed {what} on {at:%Y-%m-%d}"


def _parts_that_changed(dataset: "Release", provider: str, at: datetime) -> list[str]:
    """List the parts of the reading that the release of a time changed; none if it is not kept."""
    kept = versions(dataset.store)
    version = next((one for one in kept if version_time(one) == at), None)
    if version is None:
        return []
    release = read_manifest(dataset.store, version)
    if release.previous not in kept:
        return []
    before = read_manifest(dataset.store, release.previous).providers.get(provider)
    after = release.providers.get(provider)
    if before is None or after is None:
        return []
    old, new = before.inputs.reading, after.inputs.reading
    return [part for part in READING_PARTS if getattr(old, part) != getattr(new, part)]
