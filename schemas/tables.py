"""Every table and every curated sheet by name, with its pandera model.

``TABLES`` are the published tables, in the order in which they are published. ``SHEETS`` are the
curated tables kept in data/specs, ``CHECK_SHEETS`` the figures they are checked against, and
``RULE_SHEETS`` the other CSV files there. A provider's own sheets are in ``provider_sheets.py``.
"""

from hwprices.schemas.columns import Table, table_name
from hwprices.schemas.history import Changes, PriceHistory
from hwprices.schemas.inventory import (
    Availability,
    InstanceTypes,
    Regions,
    SpotAdvice,
    Stock,
    Zones,
)
from hwprices.schemas.offer import Offers, SoldAccelerators
from hwprices.schemas.price import ComponentPrices, MarketQuantiles, PriceComponents, Prices
from hwprices.schemas.provider_sheets import PROVIDER_SHEETS
from hwprices.schemas.quarantine import Held, NewWords, Quarantine
from hwprices.schemas.sheets import (
    AcceleratorNames,
    Benchmarks,
    BenchmarkWorkloads,
    BillingTerms,
    CpuSpeeds,
    InterconnectLinks,
    LanguageModels,
    MeasuredSpeeds,
    MediaModels,
    PowerCoefficients,
    RatioExceptions,
    RegionFootprint,
    SecondSources,
    ServingSpeeds,
    SpareCoresSpeeds,
    SparseFigures,
    SpeedModels,
    ToolNames,
    TrainingSpeeds,
    Utilisations,
)
from hwprices.schemas.spec import Accelerators, CpuFamilies, Cpus, LocalHardware

NAMES_FOLDER = "accelerator_names"
"""Folder of data/specs with a sheet for each provider, all with the same columns."""


def _by_name(*models: type[Table]) -> dict[str, type[Table]]:
    return {table_name(model): model for model in models}


TABLES = _by_name(
    *(Regions, Zones, InstanceTypes, Availability, Prices, PriceComponents, ComponentPrices),
    *(SpotAdvice, Stock, MarketQuantiles, Quarantine, NewWords, Held, Offers, SoldAccelerators),
    *(Cpus, CpuFamilies, LocalHardware, Benchmarks, PowerCoefficients, BillingTerms),
    *(PriceHistory, Changes),
)

SHEETS = _by_name(
    *(Accelerators, Cpus, CpuFamilies, LocalHardware, Benchmarks, PowerCoefficients),
    *(BillingTerms, RegionFootprint),
)
"""The curated tables that a release is joined with. All are published except region_footprint,
which completes the regions table."""

CHECK_SHEETS = _by_name(SecondSources, SparseFigures, RatioExceptions, InterconnectLinks)
"""Figures that the accelerator sheet is compared with; never published."""

RULE_SHEETS = {
    **_by_name(
        *(LanguageModels, MediaModels, BenchmarkWorkloads, TrainingSpeeds, CpuSpeeds),
        *(ServingSpeeds, SpareCoresSpeeds, SpeedModels, Utilisations),
        *(MeasuredSpeeds, ToolNames),
    ),
    **PROVIDER_SHEETS,
}
"""Sheets that the program reads rules and dimensions from; never published."""


def sheet_model(name: str) -> type[Table] | None:
    """Return the model of a sheet by its path in data/specs without ``.csv``, or None."""
    if name.startswith(f"{NAMES_FOLDER}/"):
        return AcceleratorNames
    return {**SHEETS, **CHECK_SHEETS, **RULE_SHEETS}.get(name)
