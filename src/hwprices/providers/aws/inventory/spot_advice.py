"""Make rows of the spot_advice table from the Spot Instance Advisor's file."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.rows import frames
from hwprices.schemas.inventory import SpotAdvice

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
        ValueError: the label is written in another way.
    """
    match = _BAND.fullmatch(label)
    if match is None:
        raise ValueError(f"the spot advisor's band {label!r} is not understood")
    start, figure = match[1], int(match[2])
    if start == ">":
        return Band(label, figure, 100)
    return Band(label, 0 if start == "<" else int(start.removesuffix("-")), figure)


def spot_advice(pages: Pages, page: Page) -> Part:
    """Make the spot_advice table from an advisor file, and count the advice of other systems.

    ``ranges`` lists the bands of the rate of interruption;
    ``spot_advisor.<region>.<system>.<type>`` is ``{"r": band, "s": saving in percent}``.

    Raises:
        UnreadablePageError: the file has another shape.
    """
    with pages.parsing(page):
        body = pages.read_json(page)
        rows = pl.DataFrame(_listed(body, page), schema=frames.dtypes(SpotAdvice))
        return Part("spot_advice", rows, counts=_other_systems(body["spot_advisor"]))


def _listed(body: dict[str, Any], page: Page) -> list[dict[str, Any]]:
    """Read the rows of a file, with their origin."""
    bands = {entry["index"]: read_band(entry["label"]) for entry in body["ranges"]}
    return [
        {**row, "provider": "aws", "observed_at": page.retrieved_at, "raw_sha256": page.sha256}
        for row in _rows(body["spot_advisor"], bands)
    ]


def _other_systems(regions: dict[str, Any]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for systems in regions.values():
        for system in set(systems) - set(SYSTEMS):
            counts[f"out_of_scope:spot_advice_system={system}"] += len(systems[system])
    return dict(sorted(counts.items()))


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
