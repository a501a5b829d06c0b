"""Every table and every curated sheet by name, with its pandera model.

``TABLES`` are the published tables, in the order in which they are published. ``SHEETS`` are the
curated tables kept in data/specs, ``CHECK_SHEETS`` the figures they are checked against, and
``RULE_SHEETS`` the other CSV files there. A provider's own sheets are declared in
``<provider>_sheets.py`` in this folder, in a dict ``<PROVIDER>_SHEETS`` from file name without
``.csv`` to model. They are found by that name, so that a new provider edits no list.
"""

import importlib
import pkgutil
from pathlib import Path

from hwprices.schemas.columns import Table, table_name
from hwprices.schemas.held import Held
from hwprices.schemas.history import Changes, PriceHistory
from hwprices.schemas.inventory import (
    Availability,
    InstanceTypes,
    Regions,
    SpotAdvice,
    Stock,
    Zones,
)
from hwprices.schemas.market import MarketQuantiles
from hwprices.schemas.offer import Offers, SoldAccelerators
from hwprices.schemas.price import ComponentPrices, PriceComponents, Prices
from hwprices.schemas.quarantine import NewWords, Quarantine
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
    TrainingSpeeds,
    Utilisations,
)
from hwprices.schemas.spec import Accelerators, CpuFamilies, Cpus, LocalHardware

NAMES_FOLDER = "accelerator_names"
"""Folder of data/specs with one sheet of the same columns for every provider."""


def _by_name(*models: type[Table]) -> dict[str, type[Table]]:
    return {table_name(model): model for model in models}


def _provider_sheets() -> dict[str, type[Table]]:
    """Merge the dicts of all modules of this folder that are named <provider>_sheets."""
    modules = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    sheets: dict[str, type[Table]] = {}
    for name in modules:
        if name.endswith("_sheets"):
            sheets |= getattr(importlib.import_module(f"hwprices.schemas.{name}"), name.upper())
    return sheets


TABLES = _by_name(
    Regions,
    Zones,
    InstanceTypes,
    Availability,
    Prices,
    PriceComponents,
    ComponentPrices,
    SpotAdvice,
    Stock,
    MarketQuantiles,
    Quarantine,
    NewWords,
    Held,
    Offers,
    SoldAccelerators,
    Cpus,
    CpuFamilies,
    LocalHardware,
    Benchmarks,
    PowerCoefficients,
    BillingTerms,
    PriceHistory,
    Changes,
)

SHEETS = _by_name(
    Accelerators,
    Cpus,
    CpuFamilies,
    LocalHardware,
    Benchmarks,
    PowerCoefficients,
    BillingTerms,
    RegionFootprint,
)
"""The curated tables that a release is joined with. All are published but region_footprint, which
completes the regions table."""

CHECK_SHEETS = _by_name(SecondSources, SparseFigures, RatioExceptions, InterconnectLinks)
"""Figures that the accelerator sheet is compared with; never published."""

RULE_SHEETS = {
    **_by_name(
        *(LanguageModels, MediaModels, BenchmarkWorkloads, TrainingSpeeds, CpuSpeeds),
        *(ServingSpeeds, SpareCoresSpeeds, SpeedModels, Utilisations),
        MeasuredSpeeds,
    ),
    **_provider_sheets(),
}
"""Sheets that the program reads rules and dimensions from; never published."""


def sheet_model(name: str) -> type[Table] | None:
    """Return the model of a sheet by its path in data/specs without ``.csv``, or None."""
    if name.startswith(f"{NAMES_FOLDER}/"):
        return AcceleratorNames
    return {**SHEETS, **CHECK_SHEETS, **RULE_SHEETS}.get(name)
