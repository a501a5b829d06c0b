"""Load Google's rules from the sheets data/specs/gcp_*.csv."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.specs import rules
from hwprices.specs.accelerator_names import Match, accelerator_matcher
from hwprices.specs.sheets import load
from hwprices.units import Money

Row = Mapping[str, Any]
"""One row of a sheet: column name → typed value, None for an empty cell."""


@dataclass(frozen=True)
class Series:
    """The series whose SKUs price a machine type, and its CPU as Google documents it.

    ``known`` is False if the sheet does not list the machine type.
    """

    name: str
    arch: str | None = None
    cpu_vendor: str | None = None
    cpu_models: tuple[str, ...] = ()
    threads_per_core: int | None = None
    known: bool = True


@dataclass(frozen=True)
class LocalDisks:
    """Local disks that come with a machine type.

    ``count`` is None if the API has it. ``in_slice``: the price of the GPU slice includes them.
    """

    count: int | None
    gib_each: int
    in_slice: bool


@dataclass(frozen=True)
class Network:
    """Network of a machine type; unknown fields are None."""

    gbps_max: float | None = None
    gbps_max_at_extra_charge: float | None = None
    rdma: str | None = None
    accelerator_interconnect: str | None = None


@dataclass(frozen=True)
class Tpu:
    """How a TPU maps to SKUs: one unit of the SKU is for ``chips_per_unit`` chips.

    ``machine_accelerator`` is the guestAcceleratorType of the Compute API. ``generation`` is as in
    component ids, such as v5e and v3-pod.
    """

    machine_accelerator: str
    generation: str
    chips_per_unit: int
    accelerator_id: str


class _Patterns:
    """The rows of a sheet whose first column is a regular expression for names."""

    def __init__(self, file: str, rows: list[dict[str, Any]], column: str) -> None:
        self._file = file
        self._rules = [(re.compile(row[column]), row) for row in rows if row[column]]

    def all(self, name: str) -> list[Row]:
        """Return every row whose pattern matches the complete name."""
        return [row for pattern, row in self._rules if pattern.fullmatch(name)]

    def one(self, name: str) -> Row | None:
        """Return the row whose pattern matches the complete name, or None.

        Raises:
            HwpricesError: two patterns of the sheet match.
        """
        rows = self.all(name)
        if len(rows) > 1:
            raise HwpricesError(
                f"{self._file}.csv: {len(rows)} patterns fit {name}",
                "Make them exclude each other.",
            )
        return rows[0] if rows else None


class Sheets:
    """The sheets for reading Google's pages, as lookups. Made by ``load``."""

    def __init__(
        self,
        tables: Mapping[str, pl.DataFrame],
        match_accelerator: Callable[[str | None, str], Match | None],
    ) -> None:
        """Index the sheets.

        ``tables``: the sheets gcp_* by name, with the columns of schemas/columns.csv.
        ``match_accelerator`` finds a spec sheet by Google's name of the accelerator and the machine
        type, see ``specs.accelerator_names``.
        """

        def patterns(table: str, column: str = "instance_type_pattern") -> _Patterns:
            return _Patterns(table, tables[table].to_dicts(), column)

        self.match_accelerator = match_accelerator
        self.tpus = {
            row["machine_accelerator"]: Tpu(
                row["machine_accelerator"],
                row["generation"],
                row["chips_per_unit"],
                row["accelerator_id"],
            )
            for row in tables["gcp_tpu"].to_dicts()
        }
        self.flexible_shares = _flexible_shares(tables["gcp_discounts"])
        self.regions: dict[str, Row] = {r["region"]: r for r in tables["gcp_regions"].to_dicts()}
        self._billed_vcpus: dict[str, Decimal] = dict(
            tables["gcp_billed_vcpus"].select("instance_type", "vcpus_billed").iter_rows()
        )
        self._series = patterns("gcp_series")
        self._local_ssd = patterns("gcp_local_ssd")
        self._not_sold = patterns("gcp_not_sold")
        self._network = patterns("gcp_network")
        self._tpu_slices = patterns("gcp_tpu", "slice_pattern")

    @classmethod
    def load(cls, directory: Path | None = None) -> Self:
        """Read the sheets of the checkout or the package, or of another folder.

        Raises:
            HwpricesError: a sheet is missing or a cell does not fit; names file, line and column.
        """
        names = (
            *("gcp_series", "gcp_local_ssd", "gcp_not_sold", "gcp_network"),
            *("gcp_billed_vcpus", "gcp_tpu", "gcp_regions", "gcp_discounts"),
        )
        tables = {name: load(name, directory) for name in names}
        return cls(tables, accelerator_matcher("gcp", directory))

    def series_of(self, instance_type: str) -> Series:
        """Return the series of a machine type.

        The series of a type that the sheet does not list is its first word, marked as unknown.
        """
        row = self._series.one(instance_type)
        if row is None:
            return Series(instance_type.partition("-")[0], known=False)
        return Series(
            row["series"],
            row["arch"],
            row["cpu_vendor"],
            tuple(row["cpu_models"]),
            row["threads_per_core"],
        )

    def local_disks_of(self, instance_type: str) -> LocalDisks | None:
        """Return the local disks that are part of a machine type, or None."""
        row = self._local_ssd.one(instance_type)
        if row is None:
            return None
        return LocalDisks(row["disks"], row["gib_per_disk"], in_slice=row["billed"] == "slice")

    def network_of(self, instance_type: str) -> Network:
        """Return the documented network of a machine type."""
        row = self._network.one(instance_type)
        if row is None:
            return Network()
        return Network(
            row["network_gbps_max"],
            row["network_gbps_max_at_extra_charge"],
            row["rdma"],
            row["accelerator_interconnect"],
        )

    def unsold_options(self, instance_type: str) -> frozenset[str]:
        """Return the purchase options in which Google does not sell a machine type."""
        return frozenset(row["purchase_option"] for row in self._not_sold.all(instance_type))

    def billed_vcpus(self, instance_type: str, vcpus: int) -> Decimal:
        """Return the billed vCPUs: those of the API, or a fraction for shared-core E2."""
        return self._billed_vcpus.get(instance_type, Decimal(vcpus))

    def tpu_of_slice(self, name: str) -> Tpu | None:
        """Return how a slice of the Cloud TPU API (v5litepod-16) is priced, or None."""
        row = self._tpu_slices.one(name)
        return None if row is None else self.tpus[row["machine_accelerator"]]


def _flexible_shares(sheet: pl.DataFrame) -> pl.DataFrame:
    """Return the shares paid under a flexible commitment; components without a row are not covered.

    Columns: machine_series, component, term_months and pays_share.
    """
    shares = rules.flexible_shares(rules.parse_rules(sheet))
    return pl.DataFrame(
        [(*key, share) for key, share in shares.items()],
        schema={
            "machine_series": pl.String,
            "component": pl.String,
            "term_months": pl.Int32,
            "pays_share": Money,
        },
        orient="row",
    )
