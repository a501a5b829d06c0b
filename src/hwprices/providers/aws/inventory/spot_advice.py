"""Make rows of the spot_advice table from the Spot Instance Advisor's file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.providers import Pages
from hwprices.providers.aws.kinds import SPOT_ADVISOR
from hwprices.rows import frames
from hwprices.schemas.spot import SpotAdvice

SYSTEMS = {"Linux": "linux", "Windows": "windows"}
"""Operating systems of the advisor, and their names in our tables."""

_BAND = re.compile(r"(<|>|\d+-)(\d+)%")


@dataclass(frozen=True)
class Band:
    """A band of the rate of interruption in percent: the advisor's label, and its limits."""

    label: str
    percent_from: int
    percent_to: int


def read_band(label: str) -> Band:
    """Read a label: ``<5%`` is 0 to 5, ``5-10%`` is 5 to 10, ``>20%`` is 20 to 100.

    Raises:
        HwpricesError: the label is written in another way.
    """
    match = _BAND.fullmatch(label)
    if match is None:
        raise HwpricesError(
            f"the spot advisor's band {label!r} is not understood",
            "The vendor's format has changed: the reader must be adapted.",
        )
    start, figure = match[1], int(match[2])
    if start == ">":
        return Band(label, figure, 100)
    return Band(label, 0 if start == "<" else int(start.removesuffix("-")), figure)


def spot_advice_rows(pages: Pages) -> pl.DataFrame:
    """Make the spot_advice table from the run's newest advisor file.

    ``ranges`` lists the bands of the rate of interruption;
    ``spot_advisor.<region>.<system>.<type>`` is ``{"r": band, "s": saving in percent}``.

    Raises:
        HwpricesError: a band's label is not understood.
    """
    page = pages.of(SPOT_ADVISOR)[-1]
    body = pages.read_json(page)
    bands = {entry["index"]: read_band(entry["label"]) for entry in body["ranges"]}
    rows = [
        {**row, "provider": "aws", "observed_at": page.retrieved_at, "raw_sha256": page.sha256}
        for row in _rows(body["spot_advisor"], bands)
    ]
    return pl.DataFrame(rows, schema=frames.dtypes(SpotAdvice))


def _rows(regions: dict[str, Any], bands: dict[int, Band]) -> Iterator[dict[str, Any]]:
    for region, systems in sorted(regions.items()):
        for system in sorted(set(systems) & set(SYSTEMS)):
            for instance_type, advice in sorted(systems[system].items()):
                band = bands[advice["r"]]
                yield {
                    "region": region,
                    "instance_type": instance_type,
                    "os": SYSTEMS[system],
                    "interruption_band": band.label,
                    "interruption_percent_from": band.percent_from,
                    "interruption_percent_to": band.percent_to,
                    "saving_percent": advice["s"],
                }
