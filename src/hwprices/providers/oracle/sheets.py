"""Load the facts about Oracle's machines that its files do not tell: data/specs/oracle_*.csv."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from hwprices.errors import HwpricesError
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher
from hwprices.specs.sheets import load


@dataclass(frozen=True)
class OracleSeries:
    """The machine series of a shape and its CPU.

    ``vcpus_per_ocpu`` is 2 where a core has two threads (x86) or an OCPU two cores (AmpereOne).
    ``ocpus`` and ``memory_gb`` are of a shape of one size whose figures the estimator leaves out.
    """

    name: str
    arch: str
    cpu_vendor: str | None
    cpu_models: tuple[str, ...]
    vcpus_per_ocpu: int
    threads_per_core: int
    ocpus: Decimal | None
    memory_gb: Decimal | None
    status: str | None


@dataclass(frozen=True)
class OracleSize:
    """One size of a flexible shape; ``nvme_tb`` is decimal terabytes, None where it has no disk."""

    name: str
    ocpus: Decimal
    memory_gib: Decimal
    nvme_tb: Decimal | None


class OracleSheets:
    """The sheets as lookups. Made by ``Sheets.load``."""

    def __init__(
        self,
        series: Sequence[Mapping[str, Any]],
        sizes: Sequence[Mapping[str, Any]],
        gpus: Mapping[str, str],
        match_accelerator: Matcher,
    ) -> None:
        """Index the rows of oracle_series and oracle_sizes, and GPUs by their part number."""
        self._series = [(re.compile(row["instance_type_pattern"]), row) for row in series]
        self._sizes = {row["shape"]: row for row in sizes}
        self.gpus = gpus
        self.match_accelerator = match_accelerator

    @classmethod
    def load(cls, directory: Path | None = None) -> Self:
        """Read the sheets of the checkout or the package, or of another folder.

        Raises:
            HwpricesError: a sheet is missing or a cell does not fit; names file, line and column.
        """
        gpus = load("oracle_gpus", directory).select("part_number", "gpu")
        return cls(
            load("oracle_series", directory).to_dicts(),
            load("oracle_sizes", directory).to_dicts(),
            dict(gpus.iter_rows()),
            accelerator_matcher("oracle", directory),
        )

    def series_of(self, shape: str) -> OracleSeries | None:
        """Return the series of a shape, None where the sheet has none.

        Raises:
            HwpricesError: two patterns match; the sheet is wrong.
        """
        rows = [row for pattern, row in self._series if pattern.fullmatch(shape)]
        if len(rows) > 1:
            raise HwpricesError(
                f"oracle_series.csv: {len(rows)} patterns fit {shape}",
                "Make them exclude each other.",
            )
        if not rows:
            return None
        row = rows[0]
        return OracleSeries(
            row["series"],
            row["arch"],
            row["cpu_vendor"],
            tuple(row["cpu_models"]),
            row["vcpus_per_ocpu"],
            row["threads_per_core"],
            _decimal(row["ocpus"]),
            _decimal(row["memory_gb"]),
            row["status"],
        )

    def sizes_of(self, shape: str) -> list[OracleSize]:
        """List the sizes of a flexible shape that are published; none if the sheet lacks it.

        Memory is a whole number of GB up to the shape's limit. A size is named
        ``<shape>.<OCPUs>-<GB>``, or ``<shape>.<OCPUs>`` where the OCPUs decide the memory.
        """
        row = self._sizes.get(shape)
        if row is None:
            return []
        ratios = [Decimal(text) for text in row["gb_per_ocpu"]]
        limit = Decimal(str(row["max_memory_gb"]))
        sizes: dict[str, OracleSize] = {}
        for ocpus in map(Decimal, row["ocpus"]):
            for ratio in ratios:
                memory = min(ocpus * ratio, limit)
                if memory != memory.to_integral_value():
                    continue
                suffix = f"{ocpus}" if len(ratios) == 1 else f"{ocpus}-{int(memory)}"
                name = f"{shape}.{suffix}"
                sizes[name] = OracleSize(name, ocpus, memory, _nvme(row, ocpus))
        return list(sizes.values())


def _nvme(row: Mapping[str, Any], ocpus: Decimal) -> Decimal | None:
    per_ocpu = row["nvme_tb_per_ocpu"]
    return None if per_ocpu is None else ocpus * per_ocpu


def _decimal(figure: float | None) -> Decimal | None:
    return None if figure is None else Decimal(str(figure))
