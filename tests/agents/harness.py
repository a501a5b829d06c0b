"""Ask the questions of questions.csv as an agent's program does, and score the answers.

Each question has the tool and its words (``ask``; JSON where a tool takes more),
which result answers (``result``: names and values), the figure in it, what is right, its unit, and
where the vendor states it: ``<folder below data/sample> | <needle>``, ``sku <id>``, or an address.
"""

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio

import hwprices
from hwprices.read.agents.answer import MAX_TOKENS, tokens_in

QUESTIONS = Path(__file__).with_name("questions.csv")

PRICES = ("price_per_hour", "price_per_device_hour", "upfront")
"""Figures that are amounts of money and have a citation."""

NAMED_UNITS = {"GB": "_gb", "GiB": "_gib", "Gbit/s": "_gbps_max", "W": "_w", "year": "_year"}
"""Unit: the end of the name of a figure that has it."""


@dataclass(frozen=True)
class Question:
    """A question with its right answer."""

    origin: str
    question: str
    tool: str
    ask: str
    result: str
    figure: str
    expected: str
    unit: str
    vendor: str

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the call."""
        if self.ask.startswith("{"):
            return json.loads(self.ask)
        first = {"explain": "price", "recommend": "model", "device": "name"}
        return {first.get(self.tool, "question"): self.ask}


@dataclass(frozen=True)
class Score:
    """What is right in an answer; ``cited`` is None where a figure is not a price."""

    question: Question
    figure: bool
    unit: bool
    cited: bool | None
    short: bool
    got: Any

    @property
    def is_right(self) -> bool:
        return self.figure and self.unit and self.cited is not False and self.short


def questions() -> list[Question]:
    with QUESTIONS.open(encoding="utf-8", newline="") as lines:
        return [Question(**row) for row in csv.DictReader(lines)]


async def ask(root: Path, calls: Sequence[tuple[str, dict[str, Any]]], *options: str) -> list[Any]:
    """Start the server, list its tools, and call them in one session; the list comes first."""
    from mcp import ClientSession, StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "hwprices", "mcp", "--root", str(root), *options]
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        answers: list[Any] = [(await session.list_tools()).tools]
        for tool, arguments in calls:
            answers.append(await session.call_tool(tool, arguments))
        return answers


async def ask_http(url: str, tool: str, arguments: dict[str, Any]) -> Any:
    """Call a tool of a server over HTTP, as soon as the server answers."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    place = urlsplit(url)
    for _ in range(100):
        try:
            await (await anyio.connect_tcp(str(place.hostname), place.port or 80)).aclose()
            break
        except OSError:
            await anyio.sleep(0.2)
    async with streamable_http_client(url) as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        return await session.call_tool(tool, arguments)


def score(question: Question, answer: Any, same: set[str]) -> Score:
    """Score an answer. ``same``: the citations that hold, by ``hwprices recheck``."""
    values = answer.structured_content or {}
    text = answer.content[0].text
    figures = _figures(values, question)
    right = [one for one in figures if _equals(one.get(question.figure), question.expected)]
    found = right[0] if right else {}
    is_price = question.figure in PRICES
    cited = found.get("citation") in same and {"seen", "age_days", "price_id"} <= found.keys()
    source = str(values.get("device", {}).get("source_url", "")).startswith("https://")
    return Score(
        question,
        figure=not answer.is_error and bool(right),
        unit=bool(right) and _has_unit(question, found),
        cited=cited if is_price else source if question.tool == "device" else None,
        short=tokens_in(text) + tokens_in(json.dumps(values, ensure_ascii=False)) <= MAX_TOKENS,
        got=[one.get(question.figure) for one in figures] or text[:200],
    )


def citations(answers: Sequence[Any]) -> set[str]:
    """Return every citation in the answers."""
    structured = (answer.structured_content for answer in answers)
    return {one["citation"] for values in structured for one in tree(values) if "citation" in one}


def held(root: Path, references: set[str]) -> set[str]:
    """Return the citations that a recheck finds the same."""
    ordered = sorted(references)
    answers = hwprices.open(root).recheck(*ordered)
    pairs = zip(ordered, answers, strict=True)
    return {reference for reference, answer in pairs if answer.status == "SAME"}


def _figures(values: dict[str, Any], question: Question) -> list[dict[str, Any]]:
    """Return what may answer: the requested results, or what holds for all of them."""
    if question.figure == "not_covered":
        return [{"not_covered": sentence} for sentence in values.get("not_covered", ())]
    if "." in question.figure:
        value: Any = values
        for name in question.figure.split("."):
            value = (value or {}).get(name)
        return [{question.figure: value}]
    wanted = dict(part.split("=", 1) for part in question.result.split(";") if part)
    return [
        one
        for one in tree(values.get("results"))
        if question.figure in one and all(str(one.get(k)) == v for k, v in wanted.items())
    ][:1]


def tree(value: Any, above: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value, with the values of those that it is in."""
    if isinstance(value, dict):
        own = {k: v for k, v in value.items() if not isinstance(v, dict | list) or _is_plain(v)}
        whole = {**(above or {}), **own}
        yield whole
        for item in value.values():
            yield from tree(item, whole)
    elif isinstance(value, list):
        for item in value:
            yield from tree(item, above)


def _is_plain(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(item, dict) for item in value)


def _equals(got: Any, expected: str) -> bool:
    """Compare with what is right: a number to a millionth, a sentence by its words."""
    if isinstance(got, int | float):
        return abs(got - float(expected)) <= 1e-6
    return expected in got if got else False


def _has_unit(question: Question, found: dict[str, Any]) -> bool:
    if question.figure in PRICES:
        currency, _, per = question.unit.partition("/")
        return found["currency"] == currency and question.figure.endswith("hour") == (per == "h")
    if question.unit == "TFLOPS":
        return str(found[question.figure]).endswith(question.unit)
    return question.figure.endswith(NAMED_UNITS.get(question.unit, ""))
