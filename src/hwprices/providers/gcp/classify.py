"""Decide whether a SKU is the price of a machine's component, and of which.

Description, resource group and usage type must agree; otherwise the SKU is not understood. Usage
type alone is not enough: prices of the Dynamic Workload Scheduler and some spot prices have
OnDemand too.

Thousands of SKUs of one new kind differ only in place, term and purchase option. Their new word
leaves these out, so that they are one entry in the list of new words.

Vertex AI runs models on machines of Compute Engine and bills their cores, memory and GPUs by other
SKUs with the same words: "Vertex AI: Online/Batch Prediction A3 Predefined Instance Core running in
Iowa". A bill of a3-highgpu-1g on demand (2025-08) has only these SKUs, at 1.15 times the rates of
Compute Engine, and none for local SSD. Management fees are for machines that Compute Engine bills:
reservations, spot and flex start. https://cloud.google.com/vertex-ai/pricing

Some sizes have separate SKUs: M4NUltramem224 beside M4N. Until such a SKU is understood, the size
has no price, because the rates of its series do not apply.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

import msgspec
import polars as pl

from hwprices.providers.gcp import grammar
from hwprices.providers.gcp.grammar import Descriptions, NotAMachinePrice, PricedComponent, Unknown
from hwprices.providers.gcp.machine_type import Machines

_NEW_SERIES = r"(?P<series>[A-Z]{1,2}\d{1,2}[\w-]*(?: [\w-]+)*?)"

_OF_ANY_SERIES: Final = [
    re.compile(pattern.replace(grammar.SERIES_WORDS, _NEW_SERIES))
    for pattern in grammar.COMPONENT_RULES.values()
    if grammar.SERIES_WORDS in pattern
]
"""The rules for components of a series, for a series that the vocabulary does not list."""

_SERIES_NAME = re.compile(r"[A-Z]{1,2}\d{1,2}[A-Z]{0,2}(?![A-Za-z0-9])")
_KNOWN_SERIES = {word.split()[0] for word in grammar.SERIES}
_OF_A_RELEASE = re.compile(r" *(?:\d|\(| on VM\b)")
_TERM = re.compile(r" for (?P<term>[\w -]{1,30})$")

_BEFORE = re.compile(
    rf"^(?:Commitment(?: v1)?: )?(?:(?:{'|'.join(map(re.escape, grammar.MODES))}|Reserved) )?"
)
_AFTER = re.compile(r"(?:(?: running| attached to [\w ]+? VMs(?: running)?)? in .*|(?: running))$")


def explain(description: str) -> Unknown:
    """Return the reason and the word of a description that ``Descriptions`` does not understand."""
    if not description.strip():
        return Unknown("sku_without_name", None)
    if _is_understood(description):  # the form is known, but it contradicts itself
        return Unknown("unknown_grammar", description.partition(" in ")[0])
    term = _TERM.search(description)
    if term and _is_understood(f"{description[: term.start()]} for 1 Year"):
        return Unknown("unknown_term", term["term"])
    for rule in _OF_ANY_SERIES:
        if match := rule.fullmatch(description):
            return Unknown("unknown_series", _series_word(match["series"]))
    before, _, place = description.partition(" in ")
    if place and " in " not in place and " for " not in place and _is_understood(f"{before} in X"):
        return Unknown("unknown_location", place)
    return Unknown("unknown_grammar", _kind(description))


def explain_license(description: str) -> Unknown:
    """Return the word of an unknown license: its name without release and size."""
    name = description.removeprefix("Licensing Fee for ")
    if not name.strip():
        return Unknown("sku_without_name", None)
    product = _OF_A_RELEASE.split(name, maxsplit=1)[0]
    is_known = re.fullmatch(grammar.LICENSED, product) is not None
    return Unknown("unknown_license", name if is_known or not product else product)


def _series_word(text: str) -> str:
    """Return Z4D for Z4D-HIGHMEM-HIGHLSSD, or the complete text if the series is known."""
    name = _SERIES_NAME.match(text)
    return text if name is None or name[0] in _KNOWN_SERIES else name[0]


def _kind(description: str) -> str:
    """Remove place, term and purchase option, unless the remaining text would be understood."""
    kind = _AFTER.sub("", _BEFORE.sub("", description, count=1))
    if kind and not _is_understood(f"{kind} running in Iowa"):
        return kind
    return description.partition(" in ")[0]


def _is_understood(description: str) -> bool:
    return bool(grammar.matching_rules(description))


GROUPS: Final[dict[str, frozenset[str]]] = {
    "core": frozenset({"CPU", "N1Standard"}),  # N1 keeps core and memory in one group
    "ram": frozenset({"RAM", "N1Standard"}),
    "gpu": frozenset({"GPU"}),
    "slice": frozenset({"GPU"}),
    "tpu": frozenset({"TPU"}),
    "local_ssd": frozenset({"LocalSSD", "GPU"}),  # GPU: local SSD of G4 with less than one GPU
    "instance": frozenset({"F1Micro", "G1Small"}),
}
"""Kind of component → valid category.resourceGroup."""

_ON_DEMAND = frozenset({"OnDemand"})
USAGE_TYPES: Final[dict[tuple[str, int], frozenset[str]]] = {
    ("on_demand", 0): _ON_DEMAND,
    ("spot", 0): frozenset({"Preemptible", "OnDemand"}),  # B200 spot SKUs carry OnDemand
    ("dws_defined_duration", 0): _ON_DEMAND,
    ("dws_calendar", 0): _ON_DEMAND,
    ("dws_flex_start", 0): _ON_DEMAND,
    ("committed_use", 12): frozenset({"Commit1Yr"}),
    ("committed_use", 36): frozenset({"Commit3Yr"}),
    ("committed_use", 60): frozenset({"Commit5Yr"}),
}
"""Purchase option and months → valid category.usageType."""


OTHER_FAMILIES: Final = frozenset({"Storage", "Network", "ApplicationServices", "License"})
"""category.resourceFamily of products that are not part of a machine (local SSD apart)."""


class OutOfScope(msgspec.Struct, frozen=True, gc=False):
    """A SKU of a product other than machines: storage, network, and so on."""

    resource_family: str


def classify(
    description: str, *, family: str, group: str, usage: str, descriptions: Descriptions
) -> PricedComponent | NotAMachinePrice | OutOfScope | Unknown:
    """Return what a SKU sells, why it is out of scope, or what is unknown about it.

    Args:
        description: the SKU's ``description``.
        family: ``category.resourceFamily``; licenses are read only from License.
        group: ``category.resourceGroup``, which must fit the component.
        usage: ``category.usageType``, which must fit the purchase option.
        descriptions: reads the description.
    """
    if family in OTHER_FAMILIES - {"License"} and group != "LocalSSD":
        return OutOfScope(family)
    meaning = descriptions.read(description)
    if family == "License":
        if isinstance(meaning, NotAMachinePrice):
            return NotAMachinePrice("license")
        meaning = meaning or explain_license(description)
    elif family != "Compute" and group != "LocalSSD" and not isinstance(meaning, PricedComponent):
        return OutOfScope(family) if family else Unknown("sku_without_name", None)
    if isinstance(meaning, PricedComponent) and not _agrees(meaning, family, group, usage):
        if not (family and group and usage):
            return Unknown("sku_without_name", None)
        before_place = description.partition(" in ")[0]
        return Unknown("unknown_grammar", f"{before_place} ({group}, {usage})")
    return meaning or explain(description)


def _agrees(component: PricedComponent, family: str, group: str, usage: str) -> bool:
    """Check whether category and description agree."""
    kind = component.component.kind
    if kind == "license":
        return family == "License" and usage == "OnDemand"
    if kind == "premium":  # M2's premium on cores and on memory
        kind = component.component.name
    return (
        (family == "Compute" or group == "LocalSSD")
        and group in GROUPS[kind]
        and usage in USAGE_TYPES[(component.purchase_option, component.term_months)]
    )


PREDICTION: Final = r"^[\w ]+: Online/Batch (?:Prediction|Inference) "
"""The beginning of descriptions. Other SKUs are for training, tokens, pipelines and so on."""

SERVERLESS: Final = "serverless"
_PREFIX = re.compile(PREDICTION)
_FEE = "management fee on "

_PREDEFINED = re.compile(r"(?<!^N1) Predefined(?= Instance )")
"""A word that Compute Engine uses only for N1."""


def classify_vertex(
    description: str, *, family: str, usage: str, descriptions: Descriptions
) -> PricedComponent | NotAMachinePrice | OutOfScope | Unknown:
    """Return what a SKU of Vertex AI sells; its purchase option is serverless."""
    words, is_prediction = _PREFIX.subn("", description)
    if not is_prediction:
        return OutOfScope(family or "none")
    if words.startswith(_FEE):
        return NotAMachinePrice("vertex_management_fee")
    meaning = descriptions.read(_PREDEFINED.sub("", words).replace("80gb", "80GB"))
    is_on_demand = isinstance(meaning, PricedComponent) and meaning.purchase_option == "on_demand"
    if isinstance(meaning, PricedComponent) and is_on_demand and usage == "OnDemand":
        return msgspec.structs.replace(meaning, purchase_option=SERVERLESS)
    return Unknown("unknown_grammar", description.partition(" in ")[0])


_GAP = "[ _-]*"
_GAPS = re.compile("[ _-]+")
_NOT_LETTERS = re.compile("[^a-z0-9]")

_UNDERSTOOD: Final = {_NOT_LETTERS.sub("", word.lower()) for word in grammar.SERIES}
"""Known names: "H4D Standard" is not a new SKU of h4d-standard-192."""


def named_by_refused(refused: pl.DataFrame, machines: Machines) -> dict[str, str]:
    """Map machine types that refused SKUs name to the reason why their price is null.

    Names are compared without case, blanks and hyphens, and with or without their numbers:
    C4D-HIGHMEM-HIGHLSSD names c4d-highmem-8-highlssd. If one name contains another, the longest is
    used. ``refused`` is ``SkuCatalog.refused``.
    """
    # A license "on f1-micro" is not a price of the machine, and neither is Vertex AI.
    is_machine = pl.col("family").ne_missing("License")
    is_vertex = pl.col("description").str.contains(PREDICTION).fill_null(value=False)
    not_understood = refused.filter(pl.col("component_id").is_null(), is_machine, ~is_vertex)
    texts = (
        not_understood["description"].drop_nulls().str.split(" in ").list.first().unique().sort()
    )
    spellings = {machine.name: _spellings(machine.name) for machine in machines.types}
    named: dict[str, str] = {}
    for text in texts:
        letters = _GAPS.sub("", text.lower())
        lengths = {
            name: _longest(_pattern(name).finditer(text))
            for name, words in spellings.items()
            if any("".join(spelling) in letters for spelling in words)  # few need their pattern
        }
        longest = max(lengths.values(), default=0)
        named |= dict.fromkeys(
            (name for name, length in lengths.items() if length == longest > 0),
            "named_by_refused_sku",
        )
    return named


def _spellings(name: str) -> list[list[str]]:
    """Return the words of a machine type's name, and without numbers if several words remain."""
    words = name.lower().split("-")
    without_numbers = [word for word in words if not word[0].isdigit()]
    return [words, without_numbers] if 1 < len(without_numbers) < len(words) else [words]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Match a machine type's name in any spelling, or without its numbers."""
    alternatives = "|".join(_GAP.join(map(re.escape, words)) for words in _spellings(name))
    return re.compile(rf"(?<![a-z0-9])(?:{alternatives})(?!{_GAP}[0-9])", re.IGNORECASE)


def _longest(matches: Iterable[re.Match[str]]) -> int:
    """Return the length of the longest unknown name, 0 without one."""
    names = (_NOT_LETTERS.sub("", match[0].lower()) for match in matches)
    return max((len(name) for name in names if name not in _UNDERSTOOD), default=0)
