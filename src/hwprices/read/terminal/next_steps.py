"""Propose commands at the end of a summary."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.release.release import Release
from hwprices.release.root import SAMPLE, root_option


@dataclass(frozen=True)
class Example:
    """A machine type with H100s and a region where it has a price.

    ``provider`` is "" where no other provider has a machine type of the same name.
    """

    name: str
    region: str
    provider: str = ""

    @property
    def provider_option(self) -> str:
        """The option of a command that tells it from machine types of the same name."""
        return f" --provider {self.provider}" if self.provider else ""


WELL_KNOWN = Example("p5.48xlarge", "us-east-1")
"""For the examples of a release that has a price of it."""

WELL_KNOWN_COMPOSED = Example("a3-highgpu-8g", "us-central1")
"""The same for SQL: its price is composed of parts."""

PLAIN_NAME = re.compile(r"[\w. -]+")
"""The name of a machine type or region that may be in quotes, in a shell and in SQL."""


def render(dataset: Release, gpus: pl.DataFrame) -> RenderableType:
    """List commands to copy, with machines that the release has; they are never broken into lines.

    ``gpus`` are prices of H100s: provider, private_host, instance_type and region, the first of
    which is the example where no well-known machine has a price.
    """
    root = dataset.store.root
    command = _command()
    at = root_option(root)
    steps = {"offers": f"{command} find 8xH100 europe{at}"}
    if example := _example(dataset, gpus, WELL_KNOWN):
        name = quote(example.name) + example.provider_option
        steps["one machine"] = f"{command} price {name}{at}"
        where = f"{name} --region {quote(example.region)}"
        steps["one price"] = f"{command} explain {where}{at}   (back to the vendor's line)"
    steps |= {
        "one device": f"{command} device h100-sxm{at}",
        "which machine": f"{command} recommend --model-parameters 70e9 --workload inference{at}",
        "what is in it": f"{command} coverage{at}",
    }
    if example := _example(dataset, gpus, WELL_KNOWN_COMPOSED):
        sql = "select region, min(effective_hourly) as usd from prices "
        sql += f"where instance_type = '{example.name}' group by region"
        steps["SQL"] = f'{command} query "{sql}"{at}'
    steps |= {
        "files": f"{root}/releases/{dataset.version}/  (Parquet; manifest.json has the checksums)",
        "Python": f"import hwprices; hwprices.open({_shown_root(root)!r}).find('8xH100')",
    }
    if Path("Makefile").is_file():
        steps["live figures"] = "make live"
    lines = [
        Text(f"{purpose:<15}{step}", no_wrap=True, overflow="ignore")
        for purpose, step in steps.items()
    ]
    return Group(Text("\nWhat next", style="bold"), *lines)


def _example(dataset: Release, gpus: pl.DataFrame, preferred: Example) -> Example | None:
    """Return the example that is preferred if the release has a price of it, else another.

    None if the release has none with plain names. ``gpus`` as in ``render``.
    """
    prices = dataset.scan("prices")
    priced = prices.filter(instance_type=preferred.name, region=preferred.region)
    if priced.head(1).select("region").collect().height:
        return preferred
    others = gpus.filter(~pl.col("private_host")).select("instance_type", "region", "provider")
    plain = (row for row in others.iter_rows() if all(map(PLAIN_NAME.fullmatch, row)))
    return next((Example(*row) for row in plain), None)


def _shown_root(root: str) -> str:
    """Return the display name of a root: the built-in release is "sample"."""
    return SAMPLE if root_option(root) == f" --root {SAMPLE}" else root


def _command() -> str:
    """Return the command to call from here: .venv/bin/hwprices in a checkout."""
    script = Path(sys.executable).with_name("hwprices")
    if script.is_file() and script.is_relative_to(Path.cwd()):
        return quote(str(script.relative_to(Path.cwd())))
    return "hwprices"
