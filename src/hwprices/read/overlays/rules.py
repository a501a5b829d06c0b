"""Read a file of own discounts: an ordered list of rules in YAML.

    - name: enterprise agreement       # without a name: rule 1, rule 2 …
      match:                           # all must hold; a list means any of them
        provider: aws
        region: [us-east-1, eu-*]      # * matches any text; quote a text that begins with it
        family: p5*
        option: [on_demand, reserved]
      discount: 18%                    # or: change: -0.50 · or: price: 31.00
      from: 2026-01-01                 # first and last day, both optional
      to: 2026-12-31

Rules apply in their order, each to the result of the previous rule. After a rule with ``stop:
true``, no other rule changes the prices that it matches.
"""

import fnmatch
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn

from hwprices.errors import HwpricesError, did_you_mean
from hwprices.read.find.search import COMMITMENT
from hwprices.schemas import TERMS_IN_MONTHS, vocabulary

PRICE_VALUES: Mapping[str, Collection[str]] = {
    "option": [*vocabulary.PURCHASE_OPTIONS, COMMITMENT],
    "plan": list(vocabulary.COMMITMENT_PLANS),
    "term": [str(months) for months in TERMS_IN_MONTHS],
    "os": list(vocabulary.OPERATING_SYSTEMS),
    "license": list(vocabulary.LICENSE_MODELS),
    "tenancy": list(vocabulary.TENANCIES),
}
"""Keys of ``match`` with a fixed vocabulary: the only texts that can match a price."""

MATCH_COLUMNS = {
    "provider": "provider",
    "region": "region",
    "country": "country",
    "family": "family",
    "type": "instance_type",
    "accelerator": "accelerator_id",
    "option": "purchase_option",
    "plan": "commitment_plan",
    "term": "term_months",
    "os": "os",
    "license": "license_model",
    "tenancy": "tenancy",
}
"""Keys of ``match``: the column of a price or of its machine."""

EFFECTS = ("discount", "change", "price")
KEYS = ("name", "match", *EFFECTS, "currency", "from", "to", "stop")
MAX_BYTES = 1_000_000  # of a file of rules
MAX_CHARACTERS = 1000  # of one word in it
MAX_DECIMALS = 20  # of an amount; spreadsheets write up to 17, polars takes 38

LEAST_PRICE = Decimal("1e-10")  # Smallest price that is not 0 with the decimals of ``units.Money``
HUNDRED = Decimal(100)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule. Exactly one of ``factor``, ``change`` and ``price`` is not None.

    ``factor`` multiplies the price. ``change`` and ``price`` are amounts per hour in ``currency``;
    they do not apply to prices in other currencies. ``first`` and ``last`` are days.
    """

    name: str
    line: int
    match: Mapping[str, tuple[str, ...]]
    factor: Decimal | None = None
    change: Decimal | None = None
    price: Decimal | None = None
    currency: str = "USD"
    first: date | None = None
    last: date | None = None
    stop: bool = False

    def holds_on(self, day: date) -> bool:
        """Return whether the rule is in effect on a day."""
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)


@dataclass(frozen=True)
class Overlays:
    """Rules in their order, the day on which they apply, and the name of their file."""

    rules: tuple[Rule, ...]
    day: date
    file: str = "overlays"

    @property
    def active(self) -> tuple[Rule, ...]:
        """The rules in effect on the day."""
        return tuple(rule for rule in self.rules if rule.holds_on(self.day))


def load(file: str | Path, day: date | None = None) -> Overlays:
    """Read a file of rules for a day, by default today in UTC.

    Raises:
        HwpricesError: the file cannot be read, or a rule is wrong; the message names the file and
            its line.
    """
    path = Path(file)
    try:
        with path.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise HwpricesError(
            f"cannot read {path}: {error.strerror}", "Give a file of rules in YAML."
        ) from None
    if len(data) > MAX_BYTES:
        raise HwpricesError(f"{path} has more than {MAX_BYTES} bytes", "Split it, or shorten it.")
    return parse(data.decode("utf-8", errors="replace"), str(path), day)


Discounts = str | Path | Overlays | None
"""Own discounts as callers give them: a file of rules, or loaded rules."""


def as_overlays(overlays: Discounts) -> Overlays | None:
    """Load rules from a path, or return rules that are already loaded.

    Raises:
        HwpricesError: see ``load``; or the value has another type.
    """
    if isinstance(overlays, str | Path):
        return load(overlays)
    if overlays is not None and not isinstance(overlays, Overlays):
        raise HwpricesError(f"overlays takes no {overlays!r:.40}", "Give a file of rules in YAML.")
    return overlays


def parse(text: str, file: str = "overlays", day: date | None = None) -> Overlays:
    """Read rules from a text. ``file``: its name in errors.

    Raises:
        HwpricesError: the text is not a list in YAML, or a rule is wrong.
    """
    import yaml

    try:
        document = yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError:
        raise HwpricesError(
            f"{file}: brackets or dashes are nested too deep", "Write a list of rules in YAML."
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}" if mark else file
        problem = getattr(error, "problem", None) or str(error).split("\n")[0]
        raise HwpricesError(f"{place}: {problem}", "Write a list of rules in YAML.") from None
    items = [] if document is None else document.value
    if document is not None and not isinstance(document, yaml.SequenceNode):
        raise HwpricesError(f"{file}:1: this is not a list of rules", "Begin each with a dash.")
    rules = tuple(_Reader(file, index, node).rule() for index, node in enumerate(items, start=1))
    return Overlays(rules, day or datetime.now(UTC).date(), file)


class _Reader:
    """Read one rule from its YAML node."""

    def __init__(self, file: str, index: int, node: Any) -> None:
        self.file, self.node = file, node
        self.label = f"rule {index}"
        self.line = node.start_mark.line + 1

    def fail(self, message: str, remedy: str, node: Any = None) -> NoReturn:
        line = self.line if node is None else node.start_mark.line + 1
        raise HwpricesError(f"{self.file}:{line}: {self.label}: {message}", remedy)

    def rule(self) -> Rule:
        """Check and read the rule."""
        entries = dict(self.entries(self.node, KEYS))
        name = self.label
        if "name" in entries:
            name = self.text(entries["name"])
            self.label = f"{self.label} ({name})"
        effects = [name for name in EFFECTS if name in entries]
        if len(effects) != 1:
            self.fail(
                f"it has {' and '.join(effects) or 'no discount, change or price'}",
                "Give one of discount: 18%, change: -0.50, price: 31.00.",
            )
        first, last = self.day(entries.get("from")), self.day(entries.get("to"))
        if first and last and last < first:
            self.fail("it ends before it begins", "Swap from and to.", entries["to"])
        return Rule(
            name=name,
            line=self.line,
            match=self.match(entries.get("match")),
            currency=self.currency(entries.get("currency")),
            first=first,
            last=last,
            stop=self.switch(entries.get("stop")),
            **self.effect(effects[0], entries[effects[0]]),
        )

    def entries(self, node: Any, known: Any) -> Iterator[tuple[str, Any]]:
        """Return the keys and values of a mapping, each known and given once."""
        import yaml

        if not isinstance(node, yaml.MappingNode):
            self.fail("this is not a mapping", "Write key: value.", node)
        seen = set()
        for key, value in node.value:
            name = self.text(key)
            if name not in known:
                hint = did_you_mean(name, known) or f"There are: {', '.join(known)}."
                self.fail(f"unknown key {name!r}", hint, key)
            if name in seen:
                self.fail(f"{name} is given twice", "Keep one.", key)
            seen.add(name)
            yield name, value

    def text(self, node: Any) -> str:
        import yaml

        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            self.fail("a word is missing here", "Write key: value.", node)
        if len(node.value) > MAX_CHARACTERS:
            self.fail(f"a word has more than {MAX_CHARACTERS} characters", "Shorten it.", node)
        return str(node.value).strip()

    def match(self, node: Any) -> dict[str, tuple[str, ...]]:
        import yaml

        if node is None:
            return {}
        wanted: dict[str, tuple[str, ...]] = {}
        for name, value in self.entries(node, MATCH_COLUMNS):
            items = value.value if isinstance(value, yaml.SequenceNode) else [value]
            texts = tuple(self.text(item) for item in items)
            if not texts:
                self.fail(f"{name} is empty", "Name at least one, or leave it out.", value)
            wanted[name] = tuple(map(self.months, texts)) if name == "term" else texts
            self.check_values(name, wanted[name], value)
        return wanted

    def check_values(self, name: str, patterns: tuple[str, ...], node: Any) -> None:
        """Reject a text that no price can have: the rule would silently change nothing."""
        values = PRICE_VALUES.get(name)
        if values is None:
            return
        for pattern in patterns:
            if not fnmatch.filter(values, pattern.lower()):
                hint = did_you_mean(pattern, values) or f"There are: {', '.join(values)}."
                self.fail(f"no price has the {name} {pattern!r}", hint, node)

    def months(self, text: str) -> str:
        years = re.fullmatch(r"(\d+) ?y(?:ears?)?", text.lower())
        return str(int(years[1]) * 12) if years else text

    def effect(self, kind: str, node: Any) -> dict[str, Decimal]:
        """Read the discount as a factor, or the amount of change and price."""
        text = self.text(node)
        number = self.number(text.removesuffix("%").strip(), node)
        if kind == "discount":
            if not text.endswith("%") or not -HUNDRED < number < HUNDRED:
                self.fail(
                    f"discount: {text} is not a percentage below 100 %",
                    "Write 18% for 18 % less, -5% for 5 % more.",
                    node,
                )
            return {"factor": 1 - number / HUNDRED}
        if text.endswith("%"):
            self.fail(f"{kind}: {text} is not an amount", "Write discount: 18%.", node)
        if kind == "price" and number < LEAST_PRICE:
            self.fail(f"price: {text} is not a price", "Write an amount above 0.", node)
        return {kind: number}

    def number(self, text: str, node: Any) -> Decimal:
        try:
            number = Decimal(text)
        except InvalidOperation:
            self.fail(f"{text} is not a number", "Write 18% or 31.00.", node)
        if not number.is_finite() or abs(number) >= 10**9:
            self.fail(f"{text} is not an amount", "Write 18% or 31.00.", node)
        if int(number.as_tuple().exponent) < -MAX_DECIMALS:
            self.fail(f"{text} has more than {MAX_DECIMALS} decimals", "Write 31.00.", node)
        return number

    def currency(self, node: Any) -> str:
        text = "USD" if node is None else self.text(node).upper()
        if not re.fullmatch(r"[A-Z]{3}", text):
            self.fail(f"{text} is not a currency", "Write USD, EUR …", node)
        return text

    def day(self, node: Any) -> date | None:
        if node is None:
            return None
        text = self.text(node)
        try:
            return date.fromisoformat(text)
        except ValueError:
            self.fail(f"{text} is not a day", "Write 2026-01-31.", node)

    def switch(self, node: Any) -> bool:
        if node is None:
            return False
        text = self.text(node).lower()
        if text not in ("true", "false"):
            self.fail(f"stop: {text} is neither true nor false", "Write stop: true.", node)
        return text == "true"
