"""Cite prices, and check whether cited prices still hold in a later release.

A citation is a line to paste that names the vendor's SKU and page. It contains a checksum of its
text to detect accidental changes. That does not prevent forgery: anybody can compute it.
``recheck`` compares with the dataset.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal, Unpack

import polars as pl

from hwprices.errors import HwpricesError, escaped
from hwprices.read import explain
from hwprices.read.explain import components_of
from hwprices.read.export.cells import to_json
from hwprices.read.find import offers
from hwprices.read.find.options import Options
from hwprices.release.landed import Source
from hwprices.release.release import Release, scan_types
from hwprices.release.versions import read_manifest, version_time, versions
from hwprices.release.wording import plain, why_unknown
from hwprices.schemas import PRICE_KEY

HALF_CHECK = 8
"""Hex digits of each half of the checksum. With 32 bits, one accidental change in four billion goes
unnoticed."""

REFERENCE = re.compile(
    r"(?P<price_id>[0-9a-f]{24})@(?P<release>\d{8}T\d{6}(?:\.\d{1,6})?Z)"
    r"=(?P<amount>\d{1,10}(?:\.\d{1,10})?)(?P<currency>[A-Z]{3}):(?P<check>[0-9a-f]{16})",
    re.ASCII,
)
"""The reference that ``hwprices recheck`` takes: the last word of a citation."""

USUAL = {"zone": None, "software": "none", "license_model": "included", "tenancy": "shared"}
"""Values that a citation leaves out of its line; the price_id still covers them."""

BEGIN = "hwprices "
END = "; recheck: hwprices recheck "

CITED = re.compile(
    rf"(?P<line>(?P<head>{BEGIN}\d{{8}}T[0-9.]{{6,13}}Z: (?:(?!{BEGIN}\d{{8}}T|{END}).)*)?{END})?"
    rf"{REFERENCE.pattern}",
    re.ASCII,
)
"""A citation without markdown and TeX: the line, or only its reference."""

MARKDOWN_MARKS = re.compile(r"[*`<>]")
TEX_SPECIAL = re.compile(r"([&%$#_{}])")
TEX_ESCAPE = re.compile(r"\\([&%$#_{}])")


@dataclass(frozen=True)
class CitedPrice:
    """The price in a citation. ``intact``: the checksum matches the text."""

    price_id: str
    release: str
    amount: Decimal
    currency: str
    intact: bool


@dataclass(frozen=True, kw_only=True)
class Citation:
    """One price of one release. ``str()`` returns the line to paste.

    ``amount`` is the price of one ``unit`` ("h") in ``currency``: prices.effective_hourly.
    ``sources`` are the vendor's SKUs (several for a composed price), each with the SHA-256 of its
    landed page. ``url`` is the page's address, ``fetched_at`` the time when it was fetched,
    ``valid_from`` the first release with this amount.
    """

    amount: Decimal
    unit: str = "h"
    currency: str
    provider: str
    region: str
    zone: str | None
    instance_type: str
    os: str
    software: str
    license_model: str
    tenancy: str
    purchase_option: str
    commitment_plan: str | None
    term_months: int
    payment_option: str
    valid_from: datetime | None
    valid_to: datetime | None
    release: str
    price_id: str
    sources: tuple[Source, ...]
    url: str
    fetched_at: datetime

    @property
    def bought(self) -> str:
        """What is bought, in one line, without USUAL values."""
        parts = [f"{self.instance_type} ({self.provider} {self.region})", self.os]
        parts += [
            f"{name.removesuffix('_model')} {getattr(self, name)}"
            for name, usual in USUAL.items()
            if getattr(self, name) != usual
        ]
        parts.append(self.purchase_option)
        if self.commitment_plan is not None:
            parts.append(f"plan {self.commitment_plan}")
        if self.term_months:
            parts.append(f"{self.term_months} months")
        if self.payment_option != "none":
            parts.append(f"paid {self.payment_option}")
        return ", ".join(parts)

    @property
    def check(self) -> str:
        """The checksum: 8 digits of the rest of the reference, and 8 digits of the line."""
        return _check(self._reference(), self._line())

    @property
    def reference(self) -> str:
        """The last word of the line, which identifies the citation."""
        return f"{self._reference()}:{self.check}"

    @property
    def recheck(self) -> str:
        """The command that compares this citation with a later release."""
        return f"hwprices recheck {self.reference}"

    def __str__(self) -> str:
        """Return the citation in one line of text."""
        return f"{self._line()}:{self.check}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, what is bought, the check and the command, as ``--format json``."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        sources = [{"sku": sku, "page_sha256": sha256} for sku, sha256 in self.sources]
        times = {name: utc_text(values[name]) for name in ("valid_from", "valid_to", "fetched_at")}
        more = {"bought": self.bought, "check": self.check, "recheck": self.recheck}
        return {**values, **times, "amount": plain(self.amount), "sources": sources, **more}

    def to_json(self) -> str:
        """Return ``to_dict`` as JSON."""
        return to_json(self.to_dict(), indent=1, ascii_only=True)

    def to_markdown(self) -> str:
        """Return the line with a bold amount, a link to the vendor and the command as code."""
        amount = f"{plain(self.amount)} {self.currency}/{self.unit}"
        head, _, command = str(self).partition(END)
        marked = head.replace(amount, f"**{amount}**", 1).replace(self.url, f"<{self.url}>", 1)
        return f"{marked}{END.removesuffix('hwprices recheck ')}`hwprices recheck {command}`"

    def to_bibtex(self) -> str:
        """Return an entry of BibTeX, with the line as its note."""
        note = TEX_SPECIAL.sub(r"\\\1", str(self))
        return (
            f"@misc{{hwprices-{self.price_id}-{self.release},\n"
            f"  title = {{hwprices: prices of AI and cloud hardware}},\n"
            f"  version = {{{self.release}}},\n"
            f"  year = {{{self.release[:4]}}},\n"
            f"  note = {{{note}}}\n}}"
        )

    def _reference(self) -> str:
        return f"{self.price_id}@{self.release}={plain(self.amount)}{self.currency}"

    def _line(self) -> str:
        since = f", valid from {utc_text(self.valid_from)}" if self.valid_from else ""
        until = f" to {utc_text(self.valid_to)}" if self.valid_to else ""
        pages: dict[str, list[str]] = {}
        for sku, sha256 in self.sources:
            pages.setdefault(sha256, []).append(sku)
        read = " and ".join(
            f"SKU {', '.join(skus)} on page SHA-256 {sha256}" for sha256, skus in pages.items()
        )
        line = (
            f"{BEGIN}{self.release}: {self.bought}, {plain(self.amount)} {self.currency}/"
            f"{self.unit}{since}{until}; {read}, fetched from {self.url} at"
            f" {utc_text(self.fetched_at)}{END}{self._reference()}"
        )
        return escaped(" ".join(line.split()))


FORMATS: Mapping[str, Callable[[Citation], str]] = {
    "text": str,
    "markdown": Citation.to_markdown,
    "json": Citation.to_json,
    "bibtex": Citation.to_bibtex,
}
"""Formats of a citation."""


def cite(dataset: Release, text: str, **options: Unpack[Options]) -> Citation:
    """Cite the price with an id, or the cheapest price of a question; see ``Dataset.cite``."""
    if explain.PRICE_ID.match(text):
        price_id = text
    else:
        answer = offers.answer(dataset, text, **options)
        if answer.rows.is_empty():
            raise HwpricesError(f"no price of {text}", " ".join(answer.notes))
        price_id = answer.rows["price_id"][0]
    found = explain.find_prices(dataset, price_id)
    return cite_all(dataset, [price_id], found["instance_type"].to_list())[0]


def cite_all(
    dataset: Release, price_ids: Sequence[str], types: Collection[str] = ()
) -> list[Citation]:
    """Cite prices by their ids, in their order, with one scan of each table.

    ``types``: their machine types, if known. The tables are sorted by machine type, so that only a
    part of them is read.

    Raises:
        HwpricesError: the amount of a price is unknown.
    """
    wanted = pl.col("price_id").is_in(sorted(set(price_ids)))
    rows = scan_types(dataset, "prices", types) if types else dataset.scan("prices")
    prices = {row["price_id"]: row for row in rows.filter(wanted).collect().to_dicts()}
    history = scan_types(
        dataset, "price_history", {row["instance_type"] for row in prices.values()}
    )
    current = history.filter(wanted, pl.col("valid_to").is_null())
    since = dict(current.select("price_id", "valid_from").collect().iter_rows())
    found = components_of(dataset, *prices.values())
    components = found.partition_by("price_id", as_dict=True)
    none = found.clear()
    return [
        cite_row(
            dataset.version,
            prices[price_id],
            components.get((price_id,), none),
            since.get(price_id),
        )
        for price_id in price_ids
    ]


def cite_row(
    release: str,
    price: Mapping[str, Any],
    components: pl.DataFrame,
    since: datetime | None,
    until: datetime | None = None,
) -> Citation:
    """Cite a row of prices that was valid from ``since`` to ``until``, None if it still is.

    Raises:
        HwpricesError: the amount is unknown.
    """
    if price["effective_hourly"] is None:
        raise HwpricesError(
            f"the price {price['price_id']} is not known: {why_unknown(price['price_reason'])}",
            "Cite another one; hwprices price lists them.",
        )
    sources = explain.sources_of(price, components) or [("not stated", price["raw_sha256"])]
    return Citation(
        **{name: price[name] for name in PRICE_KEY},
        amount=price["effective_hourly"],
        valid_from=since,
        valid_to=until,
        release=release,
        price_id=price["price_id"],
        sources=tuple(sources),
        url=price["source_url"],
        fetched_at=price["observed_at"],
    )


def read(text: str) -> list[CitedPrice]:
    """Read the citations in a text: references, lines, markdown, BibTeX, or JSON.

    Surrounding text and line breaks do not matter. A line and its reference are one citation.

    Raises:
        HwpricesError: the text has no citation.
    """
    citations = _read_json(text) or _read_text(text)
    if not citations:
        raise HwpricesError(
            f"found no citation in {text.strip()[:40]!a}",
            "Give the line that hwprices cite prints, its last word, or a file with such lines.",
        )
    return citations


def _read_json(text: str) -> list[CitedPrice]:
    """Read one citation or a list of citations in JSON; empty for any other text."""
    try:
        values = json.loads(text)
        listed = values if isinstance(values, list) else [values]
        return [_read_mapping(value) for value in listed]
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        return []


def _read_mapping(value: dict[str, Any]) -> CitedPrice:
    """Read a citation of ``to_dict``; it is intact if ``to_dict`` returns the same again."""
    names = {field.name for field in fields(Citation)}
    times = {
        name: datetime.fromisoformat(value[name]) if value[name] else None
        for name in ("valid_from", "valid_to", "fetched_at")
    }
    sources = tuple((source["sku"], source["page_sha256"]) for source in value["sources"])
    values: dict[str, Any] = {name: value[name] for name in names} | times
    citation = Citation(**values | {"amount": Decimal(value["amount"]), "sources": sources})
    is_same = citation.to_dict() == value
    return CitedPrice(
        citation.price_id, citation.release, citation.amount, citation.currency, is_same
    )


def _read_text(text: str) -> list[CitedPrice]:
    """Read the lines and bare references in a text."""
    unmarked = _unmarked(text)
    matches = list(CITED.finditer(unmarked))
    if sum(match["line"] is not None for match in matches) != unmarked.count(END):
        raise HwpricesError(
            "a citation has lost its reference, the word after hwprices recheck",
            "Copy the citation again.",
        )
    return [_read_match(match) for match in matches]


def _read_match(match: re.Match[str]) -> CitedPrice:
    reference, _, check = match[0].removeprefix(match["line"] or "").rpartition(":")
    intact = check[:HALF_CHECK] == _digest(reference)
    if match["line"]:
        intact = bool(match["head"]) and check == _check(reference, match["line"] + reference)
    amount = Decimal(match["amount"])
    return CitedPrice(match["price_id"], match["release"], amount, match["currency"], intact)


def _unmarked(text: str) -> str:
    """Remove line breaks and the marks of markdown and TeX."""
    return " ".join(MARKDOWN_MARKS.sub("", TEX_ESCAPE.sub(r"\1", text)).split())


def _check(reference: str, line: str) -> str:
    return _digest(reference) + _digest(_unmarked(line))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HALF_CHECK]


def utc_text(time: datetime | None) -> str | None:
    """Format a time in UTC, to the second; None for None."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if time else None


Status = Literal["SAME", "MOVED", "GONE", "RESTATED", "UNREACHABLE", "ALTERED"]

EXIT_STATUS: dict[Status, int] = {
    "SAME": 0,
    "MOVED": 1,
    "GONE": 1,
    "RESTATED": 1,
    "UNREACHABLE": 2,
    "ALTERED": 2,
}
"""Exit status of a recheck; the highest one for several citations."""

PARTLY_OURS = ("restated", "changed_and_restated", "unclear")
"""Reasons of the start or end of an interval that are at least partly our own correction."""

READING_PARTS = {
    "code": "the program that reads the pages",
    "sheets": "the rule sheets",
    "corrections": "the corrections in data/corrections.yaml",
}
"""Parts of a ``Reading``: their names in a reason."""


@dataclass(frozen=True, kw_only=True)
class Recheck:
    """The current state of a cited price.

    Attributes:
        status: SAME; MOVED, the vendor changed it; GONE, the vendor no longer sells it; RESTATED,
            we corrected our reading; UNREACHABLE, unknown; ALTERED, somebody changed the citation.
        reference: the citation.
        release: the release it was compared with, or "live".
        amount: the current amount in the currency of the citation; None if unknown.
        since: the time of the release that has the current amount first.
        last_day: the time when the last page of a price that is gone was fetched.
        reason: the reason in a sentence, or "".
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
        cited = f"{plain(self.reference.amount)} {self.reference.currency}/h"
        now = f"{plain(self.amount)} {self.reference.currency}/h" if self.amount else "not known"
        text = cited
        if self.status in ("MOVED", "RESTATED"):
            since = f" since {self.since:%Y-%m-%d}" if self.since else ""
            text = f"{cited} -> {now}{since}"
        elif self.status == "GONE" and self.last_day:
            text = f"{cited}, last seen on {self.last_day:%Y-%m-%d}"
        return f"{self.status} {self.reference.price_id} {text}" + (
            f" ({self.reason})" if self.reason else ""
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, with those of the reference as cited_…, for ``--json``."""
        cited = {f"cited_{name}": value for name, value in asdict(self.reference).items()}
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        del values["reference"], cited["cited_intact"]
        price_id = cited.pop("cited_price_id")
        amounts = {"cited_amount": plain(self.reference.amount), "amount": plain(self.amount)}
        times = {name: utc_text(values[name]) for name in ("since", "last_day")}
        return {"price_id": price_id, **cited, **values, **amounts, **times}


def recheck(dataset: Release, references: Sequence[CitedPrice]) -> list[Recheck]:
    """Compare citations with a release of the same dataset, in their order."""
    ids = {reference.price_id for reference in references}
    rows = dataset.scan("price_history").filter(pl.col("price_id").is_in(sorted(ids)))
    columns = ["price_id", *INTERVAL]
    found = rows.select(columns).sort("price_id", "valid_from").collect()
    by_id = found.partition_by("price_id", as_dict=True, include_key=False)
    none = found.clear().drop("price_id")
    return [
        _recheck(dataset, reference, by_id.get((reference.price_id,), none).to_dicts())
        for reference in references
    ]


INTERVAL = (
    *("provider", "effective_hourly", "price_reason", "valid_from", "valid_to", "state"),
    *("start_reason", "end_reason", "observed_last", "waits_for"),
)
"""Columns of price_history that a recheck needs."""


def _recheck(dataset: Release, reference: CitedPrice, rows: list[dict[str, Any]]) -> Recheck:
    """Compare one citation; ``rows`` are all intervals of its price, oldest first."""
    cited_at = version_time(reference.release)
    later = [row for row in rows if row["valid_to"] is None or row["valid_to"] > cited_at]
    answer = _problem(dataset, reference, later) or _outcome(dataset, reference, later)
    return replace(answer, release=dataset.version)


def _problem(
    dataset: Release, reference: CitedPrice, later: list[dict[str, Any]]
) -> Recheck | None:
    """State why a citation cannot be compared, or None; ``later``: intervals since the citation."""
    cited_at = version_time(reference.release)
    if not reference.intact:
        status: Status = "ALTERED"
        reason = "its check does not fit its text: copy it again"
    elif version_time(dataset.version) < cited_at:
        status, reason = "UNREACHABLE", f"release {dataset.version} is older than the citation"
    elif not later or later[0]["valid_from"] > cited_at:
        status, reason = "UNREACHABLE", f"the history has no such price at {reference.release}"
    elif later[0]["effective_hourly"] != reference.amount:
        was = plain(later[0]["effective_hourly"]) or why_unknown(later[0]["price_reason"])
        status, reason = "ALTERED", f"the history has {was} at {reference.release}"
    else:
        return None
    return Recheck(status=status, reference=reference, reason=reason)


def _outcome(dataset: Release, reference: CitedPrice, later: list[dict[str, Any]]) -> Recheck:
    """Compare a citation with the last of the intervals ``later``; the first is the cited one."""
    last = later[-1]
    steps = [
        row
        for before, row in pairwise(later)
        if row["effective_hourly"] != before["effective_hourly"]
    ]
    is_ours = all(row["start_reason"] == "restated" for row in steps)
    reasons = [_our_reason(dataset, row) for row in steps if row["start_reason"] in PARTLY_OURS]
    answer = Recheck(status="SAME", reference=reference, since=last["valid_from"])
    if last["state"] == "ended":
        if last["end_reason"] in PARTLY_OURS:
            reasons.append(_our_reason(dataset, last))
        return replace(
            answer,
            status="RESTATED" if last["end_reason"] == "restated" else "GONE",
            since=last["valid_to"],
            last_day=last["observed_last"],
            reason=_joined(reasons),
        )
    if last["state"] != "current":
        waits = f", waiting for {last['waits_for']}" if last["waits_for"] else ""
        reason = f"{last['state']}{waits}; last seen on {last['observed_last']:%Y-%m-%d}"
        return replace(answer, status="UNREACHABLE", since=None, reason=reason)
    if last["effective_hourly"] == reference.amount:
        reason = "it moved and came back" if steps else ""
        return replace(answer, amount=reference.amount, reason=reason)
    if last["price_reason"]:
        reasons.append(why_unknown(last["price_reason"]))
    return replace(
        answer,
        status="RESTATED" if is_ours else "MOVED",
        amount=last["effective_hourly"],
        reason=_joined(reasons),
    )


def compare_live(
    stored: Recheck, amount: Decimal | None, re_read: Decimal | None, at: datetime
) -> Recheck:
    """Compare a citation with the vendor's current price.

    ``stored``: the comparison with the release. ``amount``: the vendor's price at the time ``at``;
    None if it is no longer listed. ``re_read``: the price that the installed program reads from the
    pages of the release; None if they are gone.
    """
    answer = replace(stored, release="live", amount=amount, since=at, last_day=None, reason="")
    if amount is None:
        return replace(answer, status="GONE", reason="the vendor no longer lists it")
    if amount == stored.reference.amount:
        return replace(answer, status="SAME", since=None)
    if amount == stored.amount:
        return replace(stored, release="live")
    if amount == re_read and stored.status in ("SAME", "RESTATED"):
        reason = "this program reads the pages of the release in another way"
        return replace(answer, status="RESTATED", reason=reason)
    return replace(answer, status="MOVED")


def find_source(dataset: Release, price_id: str) -> dict[str, Any] | None:
    """Return where a price is read from; None if no release has had it.

    Keys: price_id, provider, region, instance_type; units, the units of collection (kind/region)
    known to have it; pages, the SHA-256 of its landed pages.
    """
    columns = ("price_id", "provider", "region", "instance_type")
    rows = dataset.scan("price_history").filter(price_id=price_id).sort("valid_from")
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


def _our_reason(dataset: Release, row: dict[str, Any]) -> str:
    """Describe which part of our reading changed at a step that is partly our correction."""
    is_end = row["end_reason"] in PARTLY_OURS
    code = row["end_reason"] if is_end else row["start_reason"]
    if code == "unclear":
        return "vendor's data and our reading both changed, and the older pages are gone"
    time = row["valid_to" if is_end else "valid_from"]
    parts = _changed_parts(dataset, row["provider"], time)
    what = " and ".join(READING_PARTS[part] for part in parts) or "our reading of the pages"
    return f"we changed {what} on {time:%Y-%m-%d}"


def _changed_parts(dataset: Release, provider: str, time: datetime) -> list[str]:
    """List the parts of the reading that the release of a time changed; none if it is not kept."""
    kept = versions(dataset.store)
    version = next((version for version in kept if version_time(version) == time), None)
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
