"""Find the curated sheets of data/specs. Cheap to import: the reader uses it too."""

import importlib.resources
from importlib.resources.abc import Traversable
from pathlib import Path

from hwprices.errors import HwpricesError


def sheet_directory() -> Traversable:
    """Where the sheets are: inside the installed package, or data/specs of a checkout.

    Raises:
        HwpricesError: neither is there.
    """
    checkout = Path(__file__).resolve().parents[3] / "data" / "specs"
    for place in (importlib.resources.files("hwprices") / "data" / "specs", checkout):
        if place.is_dir():
            return place
    raise HwpricesError(
        "the spec sheets are missing from this installation",
        "Reinstall hwprices, or run it from a checkout.",
    )
