"""Decide whether a SKU is the price of a machine's component, and of which.

The description alone does not decide: ``usageType`` does not tell on-demand from the Dynamic
Workload Scheduler's prices, which carry OnDemand too, nor some spot SKUs. So description, resource
group and usage type must agree; a SKU where they do not is not understood.
"""

from typing import Final

import msgspec

from hwprices.providers.gcp.prices.grammar import (
    Descriptions,
    NotAMachinePrice,
    PricedComponent,
    Unknown,
)
from hwprices.providers.gcp.prices.unknown import explain, explain_license

GROUPS: Final[dict[str, frozenset[str]]] = {
    "core": frozenset({"CPU", "N1Standard"}),  # N1 keeps core and memory in one group
    "ram": frozenset({"RAM", "N1Standard"}),
    "gpu": frozenset({"GPU"}),
    "slice": frozenset({"GPU"}),
    "tpu": frozenset({"TPU"}),
    "local_ssd": frozenset({"LocalSSD", "GPU"}),  # GPU: that of G4 with less than one GPU
    "instance": frozenset({"F1Micro", "G1Small"}),
}
"""category.resourceGroup that each kind of component may have."""

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
"""category.usageType that each (purchase option, months) may have."""


OTHER_FAMILIES: Final = frozenset({"Storage", "Network", "ApplicationServices", "License"})
"""category.resourceFamily of products that are not part of a machine (local SSD apart)."""


class OutOfScope(msgspec.Struct, frozen=True, gc=False):
    """A SKU of another product than machines: storage, network, and so on."""

    resource_family: str


def classify(
    description: str, *, family: str, group: str, usage: str, descriptions: Descriptions
) -> PricedComponent | NotAMachinePrice | OutOfScope | Unknown:
    """Return what a SKU sells, why it is out of scope, or what is not understood about it.

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
    """Return whether category and description say the same."""
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
