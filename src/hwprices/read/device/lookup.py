"""Find a device by name, and declare the columns of the answer."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import words as meanings
from hwprices.read.find.names import ReleaseWords, find_machines, squeeze
from hwprices.release.release import Tables
from hwprices.specs import csv_rows
from hwprices.units import Money

FOLDER = Path(__file__).parent

SIMPLE: dict[str, pl.DataType | type[pl.DataType]] = {
    "text": pl.String,
    "texts": pl.List(pl.String),
    "int": pl.Int32,
    "long": pl.Int64,
    "float": pl.Float64,
    "bool": pl.Boolean,
    "date": pl.Date,
    "money": Money,
}
"""Types in ``columns.csv`` and ``lists.csv``. The latter declares the fields of other lists."""


def _lists() -> dict[str, pl.List]:
    fields: dict[str, dict[str, pl.DataType | type[pl.DataType]]] = {}
    for row in csv_rows(FOLDER / "lists.csv"):
        fields.setdefault(row["list"], {})[row["field"]] = SIMPLE[row["type"]]
    return {name: pl.List(pl.Struct(types)) for name, types in fields.items()}


TYPES = {**SIMPLE, **_lists()}

SCHEMA = pl.Schema({row["column"]: TYPES[row["type"]] for row in csv_rows(FOLDER / "columns.csv")})
"""Columns of an answer, in order."""

Values = dict[str, Any]
"""Values of an answer by column. A missing column is unknown."""


def missing(row: Values) -> list[str]:
    """List the questions without an answer, with the reasons."""
    rentable = bool(row.get("providers"))
    rented_only = rentable and row.get("sold_locally") is False
    if any(
        sold["on_demand_per_hour"] is not None and sold["on_demand_usd_per_hour"] is None
        for sold in row.get("where_sold", ())
    ):
        no_rent = "no price in USD"
    elif rentable:
        no_rent = "no price in this release"
    else:
        no_rent = "no cloud here sells it, and no machine to buy has a price and a power"
    no_price = "it is rented only" if rented_only else "no price is known"
    no_tokens = "no measured rate, or no hourly price"
    if row["type"] == "cpu" and row.get("measured"):
        no_tokens = "`hwprices recommend NAME --machines cpus` estimates it"
    hourly = ("cheapest_usd_per_hour", "private_host_usd_per_hour", "part_usd_per_hour")
    questions = {
        (*hourly, "tco_usd_per_hour"): f"hourly cost: {no_rent}",
        ("purchase_price",): f"purchase cost: {no_price}",
        ("measured",): "measured performance: no published measurement",
        ("usd_per_million_tokens",): f"cost per million tokens: {no_tokens}",
        ("tflops_per_watt",): "TFLOPS/W: no dense rate or no TDP is published",
        ("gco2e_per_hour",): "gCO2e/h: no published power, or no grid and PUE of a region that"
        " sells it",
    }
    return [reason for names, reason in questions.items() if not any(map(row.get, names))]


def to_frame(row: Values, unanswered: Sequence[str] = ()) -> pl.DataFrame:
    """Return the answer as a frame of one row, with the columns of SCHEMA.

    ``unanswered``: sentences to put before ``missing``.
    """
    return pl.DataFrame([row | {"missing": [*unanswered, *missing(row)]}], schema=SCHEMA)


TABLES = {"accelerators": "accelerator_id", "cpus": "cpu_id", "local_hardware": "device_id"}
"""Tables of devices and their keys, in the order of preference."""

MAX_SUGGESTIONS = 12


@dataclass(frozen=True)
class NamedDevice:
    """A device and its names."""

    table: str
    device_id: str
    name: str
    vendor: str
    architecture: str = ""

    @property
    def table_and_id(self) -> str:
        """The id with its table: cpus/apple-m4, because accelerators also have an apple-m4."""
        return f"{self.table}/{self.device_id}"

    @property
    def short_id(self) -> str:
        """The id without the maker: l4 for nvidia-l4, but dgx-h100 because DGX is not a maker."""
        maker = words(self.vendor.split(maxsplit=1)[0] if self.vendor else "")
        prefix, _, name = self.device_id.partition("-")
        return name if name and words(prefix) == maker else self.device_id

    @property
    def full_names(self) -> set[str]:
        """Every complete name of the device, squeezed."""
        without_remark = re.sub(r"\(.*?\)", "", self.name)
        spellings = (
            self.device_id,
            self.short_id,
            self.name,
            f"{self.vendor} {self.name}",
            without_remark,
        )
        return {squeeze(spelling) for spelling in spellings}

    def is_of_series(self, table: str, name: str) -> bool:
        """Check whether a name without a number begins the device's: "Xeon" is every Xeon."""
        has_number = any(letter.isdigit() for letter in name)
        return self.table == table and not has_number and words(name) <= self.words

    @property
    def words(self) -> set[str]:
        """All words of id, name, maker and architecture."""
        return words(f"{self.device_id} {self.name} {self.vendor} {self.architecture}")


def words(text: str) -> set[str]:
    """Split a name into words, also between letters and digits: "MI300X" is mi, 300, x."""
    return set(re.findall(r"[a-z]+|\d+", text.lower()))


def candidates(dataset: Tables) -> list[NamedDevice]:
    """List every device of the dataset, in the order of preference."""
    names = {
        table: dataset.scan(table).select(key, "name", "vendor", "^architecture$").collect()
        for table, key in TABLES.items()
    }
    return [NamedDevice(table, *row) for table, rows in names.items() for row in rows.rows()]


@dataclass(frozen=True)
class SoldAs:
    """Machine types and families of clouds by their squeezed names."""

    accelerators: dict[str, list[str]]
    """The ids of the accelerators in the machines of a name."""

    without_offers: dict[str, list[str]] = field(default_factory=dict)
    """The machine types of a name, if the release has no offer of any of them."""

    vendor_names: dict[str, list[str]] = field(default_factory=dict)
    """The ids of the devices with a vendor's name; many leave out the form: NVIDIA H100."""

    @classmethod
    def of(cls, dataset: Tables) -> "SoldAs":
        """List the machine types with accelerators, AWS's families, and vendors' names of devices.

        G4 means the families that begin with it (g4dn, g4ad), because a family g4 does not exist. A
        vendor's name is often the name in the driver: NVIDIA H100 80GB HBM3.
        """
        vendor_names: dict[str, list[str]] = {}
        exact: dict[str, list[str]] = {}
        short: dict[str, list[str]] = {}
        machines: dict[str, list[str]] = {}
        offered: set[str] = set()
        for row in _machines(dataset).iter_rows():
            provider, instance_type, accelerator_id, vendor_name, is_offered = row
            family = re.match(r"(([a-z]+\d+)[a-z]*)\.", instance_type)
            families = family.groups() if provider == "aws" and family else ()
            names = [squeeze(instance_type), *families]
            if vendor_name:
                _add(vendor_names, squeeze(vendor_name), accelerator_id)
            for name in names[:2]:
                _add(exact, name, accelerator_id)
            for name in names[2:]:
                _add(short, name, accelerator_id)
            for name in names:
                _add(machines, name, instance_type)
            if is_offered:
                offered.update(names)
        without_offers = {name: types for name, types in machines.items() if name not in offered}
        return cls(short | exact, without_offers, vendor_names)

    def unanswered(self, name: str, device_id: str) -> list[str]:
        """State that the machine types of a name have no price; empty if they have."""
        squeezed = squeeze(name)
        if device_id not in self.accelerators.get(squeezed, []):
            return []
        types = self.without_offers.get(squeezed, [])
        return [
            f"price of {instance_type}: no offer in this release;"
            f" hwprices price {quote(instance_type)} says why"
            for instance_type in types
        ]


def _machines(dataset: Tables) -> pl.DataFrame:
    """List provider, instance_type, accelerator_id, vendor_name and is_offered."""
    key = ["provider", "instance_type"]
    offers = dataset.scan("offers").select(*key, "accelerator_id", vendor_name=None).unique()
    described = (
        dataset.scan("instance_types")
        .select(*key, "accelerators")
        .explode("accelerators", empty_as_null=True)
        .unnest("accelerators")
        .select(*key, "accelerator_id", "vendor_name")
    )
    offered = offers.select(key).unique().with_columns(is_offered=pl.lit(True))
    return (
        pl.concat([offers, described], how="vertical_relaxed")
        .drop_nulls("accelerator_id")
        .unique()
        .join(offered, on=key, how="left")
        .with_columns(pl.col("is_offered").fill_null(False))
        .sort(*key, "accelerator_id", "vendor_name")
        .collect()
    )


def _add(names: dict[str, list[str]], name: str, value: str) -> None:
    values = names.setdefault(name, [])
    if value not in values:
        values.append(value)


def namesakes(devices: list[NamedDevice], table: str, device_id: str) -> list[str]:
    """List the devices of other tables with the same id, each with its table."""
    return [
        candidate.table_and_id
        for candidate in devices
        if candidate.device_id == device_id and candidate.table != table
    ]


def find(
    devices: list[NamedDevice],
    name: str,
    sold_as: SoldAs | None = None,
    names: ReleaseWords | None = None,
) -> tuple[str, str]:
    """Return table and id of the device that ``name`` means.

    The first match counts: an exact id, alone or after its table (cpus/apple-m4); a complete name,
    with or without the maker; a machine type or family of a cloud, which means its accelerator; the
    only device of a table with all words of the name; a vendor's name of a device. A name of both a
    device and machines with another accelerator is ambiguous, as is the name of a series: Trainium.

    ``names``: the other names in the release.

    Raises:
        HwpricesError: no device or several devices match; the message suggests similar ones, or
            states what the name is.
    """
    squeezed = squeeze(name)
    if not squeezed:
        raise HwpricesError(
            "no device was named", "Give an id or a name, such as nvidia-l4 or RTX 4090."
        )
    for candidate in devices:
        if name in (candidate.device_id, candidate.table_and_id):
            return candidate.table, candidate.device_id
    sold = sold_as.accelerators.get(squeezed, []) if sold_as else []
    if complete := next((d for d in devices if squeezed in d.full_names), None):
        return _with_complete_name(complete, name, devices, sold)
    if sold:
        return _only_accelerator(name, sold)
    name_words = words(name)
    for table in TABLES:
        matches = [d.device_id for d in devices if d.table == table and name_words <= d.words]
        if len(matches) == 1:
            return table, matches[0]
        if matches:  # "mac" means chips of AWS's machines, and machines on sale
            others = [
                device.table_and_id
                for device in devices
                if device.table == "local_hardware" != table
                and device.name.lower().startswith(name.lower())
            ]
            raise _ambiguous(name, [*matches, *others])
    if sold_as and (ids := sold_as.vendor_names.get(squeezed)):
        return _only_accelerator(name, ids)
    if names is not None:
        _reject_clouds_and_machines(name, names)
    raise HwpricesError(f"unknown device {name!r}", _suggestions(devices, squeezed))


def _with_complete_name(
    device: NamedDevice, name: str, devices: list[NamedDevice], sold: list[str]
) -> tuple[str, str]:
    """Return a device unless machines of its name have another, or it is the first of a series."""
    if sold and device.device_id not in sold:
        in_clouds = [f"{device_id} (in machines of this name)" for device_id in sold]
        raise _ambiguous(name, [f"{device.device_id} (the device)", *in_clouds])
    series = [d.device_id for d in devices if d.is_of_series(device.table, name)]
    if series[1:]:
        raise _ambiguous(name, series)
    return device.table, device.device_id


def _only_accelerator(name: str, ids: list[str]) -> tuple[str, str]:
    if len(ids) > 1:
        raise _ambiguous(name, ids)
    return "accelerators", ids[0]


def _reject_clouds_and_machines(name: str, names: ReleaseWords) -> None:
    """Reject the name of a cloud or a machine type, and suggest the command for it."""
    text = " ".join(name.lower().split())
    for provider in meanings.providers(text, names):
        raise HwpricesError(
            f"{names.providers[provider]} is a cloud, not a device",
            f"hwprices find --provider {provider} lists what it offers.",
        )
    for machine in find_machines(names.machines, name):
        raise HwpricesError(
            f"{machine.instance_type} is a machine type of {machine.provider}, not a device",
            f"hwprices price {quote(machine.instance_type)} shows what it costs.",
        )


class SeveralDevicesError(HwpricesError):
    """A name that means several devices; ``devices`` are their ids."""

    def __init__(self, message: str, remedy: str, devices: list[str]) -> None:
        super().__init__(message, remedy)
        self.devices = devices


def _ambiguous(name: str, matches: list[str]) -> SeveralDevicesError:
    more = " …" if len(matches) > MAX_SUGGESTIONS else ""
    listed = ", ".join(matches[:MAX_SUGGESTIONS])
    ids = [match.partition(" (")[0] for match in matches]
    return SeveralDevicesError(
        f"{name!r} matches {len(matches)} devices", f"Name one: {listed}{more}.", ids
    )


def _suggestions(devices: list[NamedDevice], squeezed: str) -> str:
    """Write the remedy for an unknown device: similar names, or where to look."""
    spellings = {
        squeeze(spelling): device.device_id
        for device in devices
        for spelling in (device.device_id, device.short_id, device.name)
    }
    close = difflib.get_close_matches(squeezed, spellings, n=5, cutoff=0.5)
    device_ids = dict.fromkeys(spellings[match] for match in close)
    if device_ids:
        return f"Did you mean {', '.join(device_ids)}?"
    return "The tables accelerators, cpus and local_hardware list the known devices."
