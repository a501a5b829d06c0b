"""Read what was fitted on the measurements: the sheets that tools/calibration.py writes."""

from dataclasses import dataclass
from functools import cache

import polars as pl

from hwprices.formulas.serving import Efficiency
from hwprices.specs import sheet_directory


@dataclass(frozen=True)
class Calibration:
    """What was fitted on the measurements: the sheets efficiencies and calibration."""

    efficiencies: dict[str, Efficiency]
    """Of a filled machine, by family; ``other`` for those that nobody has measured."""
    single_user_bandwidth: dict[str, float]
    """Share of the memory bandwidth that programs for one user reach, by family."""
    measured: frozenset[tuple[str, str]]
    """Family and kind (serving, single_user) of which an accelerator was measured; the efficiencies
    of the others are those of ``other``."""
    experts: float
    """Share of the compute efficiency that a mixture of experts keeps: its matrices are small."""
    flops_per_byte: float
    """Operations that a device without a published rate does in the time it reads a byte."""
    utilisations: dict[tuple[str, bool], float]
    """Accelerator, and whether it computes in FP8: share of its peak rate that the training of
    dense models reached, where it was measured."""
    errors: dict[str, tuple[float, float]]
    """basis/kind: median and 90th percentile of the error, as shares of the measured figure."""

    def efficiency(self, family: str, *, has_experts: bool, single_user: bool) -> Efficiency:
        """Return the efficiency of a family, for a dense model or a mixture of experts."""
        fitted = self.efficiencies.get(family, self.efficiencies["other"])
        share = self.experts if has_experts else 1.0
        bandwidth = fitted.bandwidth
        if single_user:
            other = self.single_user_bandwidth["other"]
            bandwidth = self.single_user_bandwidth.get(family, other)
        return Efficiency(fitted.compute * share, bandwidth)


def load_calibration() -> Calibration:
    """Read what tools/calibration.py fitted."""
    return calibration_from(
        pl.read_csv((sheet_directory() / "efficiencies.csv").read_bytes()),
        pl.read_csv((sheet_directory() / "calibration.csv").read_bytes()),
        pl.read_csv((sheet_directory() / "utilisations.csv").read_bytes()),
    )


@cache
def calibration() -> Calibration:
    """Return the fitted efficiencies. Cached: the sheets are part of the package."""
    return load_calibration()


def calibration_from(
    efficiencies: pl.DataFrame,
    errors: pl.DataFrame | None = None,
    utilisations: pl.DataFrame | None = None,
) -> Calibration:
    """Make a calibration from the sheets; without the last two while they are being computed."""
    figures = {row["family"]: row for row in efficiencies.iter_rows(named=True)}
    families = {
        name: Efficiency(row["compute"], row["bandwidth"])
        for name, row in figures.items()
        if row["bandwidth"] is not None
    }
    return Calibration(
        efficiencies=families,
        single_user_bandwidth={name: figures[name]["single_user_bandwidth"] for name in families},
        measured=frozenset(
            (name, kind)
            for name in families
            for kind in ("serving", "single_user")
            if name != "other" and figures[name][f"{kind}_measurements"]
        ),
        experts=figures["experts"]["compute"],
        flops_per_byte=figures["flops_per_byte"]["compute"],
        utilisations={
            (row["accelerator_id"], row["precision"] == "fp8"): row["mfu"]
            for row in ([] if utilisations is None else utilisations.iter_rows(named=True))
        },
        errors={
            f"{row['basis']}/{row['kind']}": (row["median_error"], row["p90_error"])
            for row in ([] if errors is None else errors.iter_rows(named=True))
        },
    )
