"""List the values that prices may have, and the columns of offers with commitments, for rules."""

from collections.abc import Collection, Mapping

from hwprices.read.find.search import COMMITMENT
from hwprices.schemas import vocabulary

PRICE_VALUES: Mapping[str, Collection[str]] = {
    "option": [*vocabulary.PURCHASE_OPTIONS, COMMITMENT],
    "plan": list(vocabulary.COMMITMENT_PLANS),
    "term": [str(months) for months in vocabulary.TERMS_IN_MONTHS],
    "os": list(vocabulary.OPERATING_SYSTEMS),
    "license": list(vocabulary.LICENSE_MODELS),
    "tenancy": list(vocabulary.TENANCIES),
}
"""Name in a rule's ``match``: all that prices have there. Any other text would match nothing."""

COMMITMENT_COLUMNS: Mapping[str, tuple[str, str]] = vocabulary.COMMITMENT_COLUMNS
"""How the names of price columns of offers begin that have commitments: option and plan."""
