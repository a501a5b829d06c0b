"""Read the SKUs of Vertex AI that price the machines of online and batch prediction.

Vertex AI runs a model on machines of Compute Engine and bills their cores, memory and GPUs by SKUs
of its own, which word them as Compute Engine does: "Vertex AI: Online/Batch Prediction A3
Predefined Instance Core running in Iowa". A bill of a3-highgpu-1g on demand (2025-08) has these
SKUs alone, at 1.15 times the rates of Compute Engine, and none of a local SSD. The management fees
are for machines that Compute Engine bills: reservations, spot and flex start.
https://cloud.google.com/vertex-ai/pricing
"""

import re
from typing import Final

import msgspec

from hwprices.providers.gcp.prices.classify import OutOfScope
from hwprices.providers.gcp.prices.grammar import (
    Descriptions,
    NotAMachinePrice,
    PricedComponent,
    Unknown,
)

PREDICTION: Final = r"^[\w ]+: Online/Batch (?:Prediction|Inference) "
"""How descriptions begin. Other SKUs are of training, tokens, pipelines and so on."""

SERVERLESS: Final = "serverless"

_PREFIX = re.compile(PREDICTION)
_FEE = "management fee on "

_PREDEFINED = re.compile(r"(?<!^N1) Predefined(?= Instance )")
"""A word that Compute Engine has for N1 only."""


def classify_vertex(
    description: str, *, family: str, usage: str, descriptions: Descriptions
) -> PricedComponent | NotAMachinePrice | OutOfScope | Unknown:
    """Return what a SKU of Vertex AI sells; a component is sold by the option serverless."""
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
