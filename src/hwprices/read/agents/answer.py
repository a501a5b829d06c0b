"""Answers to agents: cited figures, and what is not covered, within a limited length.

An answer has a few figures, each with price_id, age, currency and a citation for ``hwprices
recheck``, and ``not_covered``, what the answer leaves out although a reader may expect it. It is
sent both as JSON (``to_dict``) and as short text (``to_text``), because some programs show their
model only one of them. Both together have at most MAX_TOKENS.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from string import Formatter
from typing import Any

from hwprices.read import citation
from hwprices.read.export.cells import to_json
from hwprices.read.find import covers
from hwprices.release.release import Release
from hwprices.release.wording import counted, plain, purchase, system

MAX_TOKENS = 2_000
"""Tokens of JSON and text together; far below the 25,000 (MAX_MCP_OUTPUT_TOKENS) at which Claude
Code cuts an answer off."""

MAX_SENTENCE = 300
"""Characters of a sentence in ``not_covered``; a longer one is cut. Six sentences are about half of
MAX_TOKENS."""

Figure = dict[str, Any]  # One result: JSON values by name


@dataclass(frozen=True)
class Answer:
    """The results of a question, the best first.

    ``line`` writes the text of a result. ``about``: values that apply to all results. ``total``:
    the number of all results, of which ``results`` are the first.
    """

    headline: str
    release: str
    results: Sequence[Figure]
    line: Callable[[Figure], str]
    about: Mapping[str, Any] = field(default_factory=dict)
    not_covered: Sequence[str] = ()
    total: int = 0

    @property
    def more(self) -> int:
        """The number of results that are left out."""
        return max(self.total - len(self.results), 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        return {
            "release": self.release,
            **self.about,
            "results": list(self.results),
            **({"more_results": self.more} if self.more else {}),
            "not_covered": list(self.not_covered),
        }

    def to_text(self) -> str:
        """Return the answer as lines of text."""
        lines = [self.headline, *map(self.line, self.results)]
        lines += [f"and {self.more} more: narrow the question"] * (self.more > 0)
        cited = [result["citation"] for result in self.results if "citation" in result]
        lines += [f"Citation of the first: {reference}" for reference in cited[:1]]
        lines += [f"Not covered: {sentence}" for sentence in self.not_covered]
        return "\n".join(lines)

    def fitted(self, max_tokens: int = MAX_TOKENS) -> "Answer":
        """Leave out results from the end until the answer is short enough."""
        answer = replace(self, total=max(self.total, len(self.results)))
        while tokens_of(answer) > max_tokens and len(answer.results) > 1:
            answer = replace(answer, results=answer.results[:-1])
        return answer


def line(*parts: str) -> Callable[[Figure], str]:
    """Return a function that writes the parts of a figure for which it has the values.

    >>> line("{machine}", " in {region}", ": {price:.2f}")({"machine": "L4", "price": 0.7})
    'L4: 0.70'
    """

    def write(figure: Figure) -> str:
        return "".join(
            part.format_map(figure)
            for part in parts
            if {name for _, name, _, _ in Formatter().parse(part) if name} <= figure.keys()
        )

    return write


_PIECE = re.compile(r"[A-Za-z]+|\d+|\s+|[^\w\s]|\w")


def tokens_in(text: str) -> int:
    """Estimate the tokens of a text, rather too many than too few.

    A token is about four letters of English, three digits, or a sign. For the answers of the tests,
    the estimate is 1.1 to 1.4 times the count of four tokenizers (cl100k_base, o200k_base,
    Anthropic's and DeepSeek's published ones).

    >>> tokens_in("55.04 USD/h")
    6
    """
    size = {True: 4, False: 3}
    pieces = _PIECE.findall(text)
    return sum(-(-len(piece) // size[piece.isalpha()]) for piece in pieces if piece != " ")


def tokens_of(answer: Answer) -> int:
    """Estimate the tokens of an answer, JSON and text together."""
    return tokens_in(to_json(answer.to_dict())) + tokens_in(answer.to_text())


def known(values: Mapping[str, Any], *names: str) -> Figure:
    """Return the known values, by default of all names; times as days."""
    chosen = {name: values[name] for name in names} if names else values
    return {
        name: f"{value:%Y-%m-%d}" if isinstance(value, date) else number(value)
        for name, value in chosen.items()
        if value is not None and value not in ([], "")
    }


def number(value: Any) -> Any:
    """Convert a decimal to a JSON number with 15 significant digits."""
    return float(value) if isinstance(value, Decimal) else value


def age(seen: datetime) -> Figure:
    """Return when a price was seen, and how many days ago."""
    at = seen if seen.tzinfo else seen.replace(tzinfo=UTC)
    return known({"seen": at, "age_days": (datetime.now(UTC) - at).days})


def price_figure(row: Mapping[str, Any]) -> Figure:
    """Return a row of ``find`` or ``price`` as a figure without age and citation."""
    count = row["accelerator_count"]
    devices = f"{plain(count)} x {row['accelerator_id'] or row['accelerator_kind']}"
    per_device = None
    if count and count != 1:
        per_device = round(row["effective_hourly"] / Decimal(count), 6)
    return known(
        {
            "price_per_hour": row["effective_hourly"],
            "currency": row["currency"],
            "usd_per_hour": row["usd_per_hour"] if row["currency"] != "USD" else None,
            "price_per_accelerator_hour": per_device,
            "machine": row["instance_type"],
            **known(row, "provider", "region", "zone"),
            "purchase": purchase(row),
            "system": system(row),
            "accelerators": devices if count else None,
            **known(row, "vcpus", "memory_gib"),
            "upfront": row["upfront"] or None,
            "flags": list(row["flags"]),
            "stale": row["stale"] or None,
            "price_id": row["price_id"],
        }
    )


def price_line(figure: Figure) -> str:
    """Write a price as a line of text."""
    place = figure.get("zone") or figure["region"]
    return _PRICE_LINE({**figure, "place": place}) + ", stale" * bool(figure.get("stale"))


_PRICE_LINE = line(
    "{price_per_hour:.10g} {currency}/h",
    " ({price_per_accelerator_hour:.6g} per accelerator)",
    ", {machine} ({provider} {place}), {purchase}, {system}, seen {seen}",
)


def cited(dataset: Release, figures: Sequence[Figure]) -> list[Figure]:
    """Add to each current price its age, and the reference that ``hwprices recheck`` takes.

    A current price has ``price_id`` and ``price_per_hour``; other figures stay as they are.
    """
    current = {"price_id", "price_per_hour"}
    ids = {figure["price_id"] for figure in figures if current <= figure.keys()}
    citations = citation.cite_all(dataset, sorted(ids)) if ids else []
    more = {
        cite.price_id: age(cite.fetched_at) | {"citation": cite.reference} for cite in citations
    }
    return [figure | more.get(figure.get("price_id", ""), {}) for figure in figures]


def not_covered(
    dataset: Release, providers: Iterable[str] = (), notes: Iterable[str] = ()
) -> list[str]:
    """List what an answer does not cover: notes, regions without prices, what was not collected.

    ``providers``: those in the answer; empty for all. ``notes``: further sentences.
    """
    entries = dataset.release.providers
    names = sorted(set(providers) & set(entries)) or sorted(entries)
    covered = covers.coverage_by_provider(dataset)
    gaps = [
        f"{name} {regions.known - len(regions.priced)} of {regions.known}"
        for name, regions in covered.items()
        if name in names and len(regions.priced) < regions.known
    ]
    recorded = [name for name in names if entries[name].origin == "sample"]
    kept = [name for name in names if entries[name].status == "kept"]
    every = f"all {len(recorded)} clouds" if len(recorded) == len(entries) else ", ".join(recorded)
    sentences = [*map(for_agents, notes)]
    if gaps:
        sentences.append(f"Regions without prices here: {', '.join(gaps)}.")
    if len(names) == len(entries):
        sentences.append(f"Clouds other than {', '.join(sorted(entries))}.")
    if recorded:
        sentences.append(f"Not collected live, but from recordings: {every}.")
    if kept:
        sentences.append(f"Kept from an earlier collection, because one failed: {', '.join(kept)}.")
    return [s if len(s) <= MAX_SENTENCE else f"{s[: MAX_SENTENCE - 1]}…" for s in sentences]


_OPTION = re.compile(r"--usd-per (\w+)=…(?: --usd-per (\w+)=…)*")


def for_agents(sentence: str) -> str:
    """Replace the option for exchange rates in a sentence by the argument of the tools."""
    return _OPTION.sub(lambda found: f'usd_per {{"{found[1]}": …}}', sentence)


def answer(
    dataset: Release,
    headline: str,
    figures: Sequence[Figure],
    line: Callable[[Figure], str],
    *,
    providers: Iterable[str] = (),
    notes: Iterable[str] = (),
    about: Mapping[str, Any] | None = None,
    total: int | None = None,
) -> Answer:
    """Make an answer: cite its prices, and list what it does not cover."""
    count = len(figures) if total is None else total
    return Answer(
        headline,
        dataset.version,
        cited(dataset, figures),
        line,
        about or {},
        not_covered(dataset, providers, notes),
        count,
    )


def headline(count: int, noun: str, text: str, release: str) -> str:
    """Write the headline of an answer."""
    about = f" for {text!r}" if text.strip() else ""
    return f"{counted(count, noun)}{about}, release {release}"
