"""Which device somebody means: by id, by name, by the words of it, with suggestions where it is not clear."""

import difflib
import re

import polars as pl

from hwprices.errors import HwpricesError

SHOWN = 12  # suggestions a person reads


def squeeze(text: str) -> str:
    """Letters and digits alone, lower case: "RTX 4090", "rtx-4090" and "RTX4090" are the same."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def words(text: str) -> set[str]:
    """Words of a name; where letters meet digits a new one begins: "MI300X" is mi, 300, x."""
    return set(re.findall(r"[a-z]+|\d+", text.lower()))


def find(sheets: list[tuple[str, pl.DataFrame]], name: str) -> tuple[str, str]:
    """(sheet, id) of the device somebody means. ``sheets``: name and a frame with id, name, vendor, in the order of preference.

    An exact id or name (with or without the maker's) comes first, in any sheet; then the only device with all the words.

    Raises:
        HwpricesError: none fits, or several do; the line names the nearest ones.
    """
    rows = [
        (sheet, *row)
        for sheet, frame in sheets
        for row in frame.select("id", "name", "vendor").iter_rows()
    ]
    wanted = squeeze(name)
    if not wanted:
        raise HwpricesError(
            "no device was named", "Give an id or a name, such as nvidia-l4 or RTX 4090."
        )
    for sheet, key, title, maker in rows:
        if wanted in _exact(key, title, maker):
            return sheet, key
    asked = words(name)
    for sheet, _ in sheets:
        fitting = [
            (key, title)
            for s, key, title, maker in rows
            if s == sheet and asked <= words(f"{key} {title} {maker}")
        ]
        if len(fitting) == 1:
            return sheet, fitting[0][0]
        if fitting:
            listed = ", ".join(key for key, _ in fitting[:SHOWN])
            raise HwpricesError(
                f"{name!r} is {len(fitting)} devices",
                f"Name one: {listed}{' …' if len(fitting) > SHOWN else ''}.",
            )
    raise HwpricesError(
        f"there is no device {name!r}", _suggestions([row[1:] for row in rows], wanted)
    )


def _exact(key: str, title: str, maker: str) -> set[str]:
    """Every way in which a device is named in full."""
    short = _without_maker(key, maker)
    return {
        squeeze(key),
        squeeze(short),
        squeeze(title),
        squeeze(f"{maker} {title}"),
        squeeze(re.sub(r"\(.*?\)", "", title)),
    }


def _without_maker(key: str, maker: str) -> str:
    """nvidia-l4 is l4 to everybody; dgx-h100 is not h100."""
    first = words(maker.split(maxsplit=1)[0] if maker else "")
    prefix, _, rest = key.partition("-")
    return rest if rest and words(prefix) == first else key


def _suggestions(rows: list[tuple[str, str, str]], wanted: str) -> str:
    spelled = {
        squeeze(spelling): key
        for key, title, maker in rows
        for spelling in (key, _without_maker(key, maker), title)
    }
    near = list(
        dict.fromkeys(
            spelled[match] for match in difflib.get_close_matches(wanted, spelled, n=5, cutoff=0.5)
        )
    )
    return (
        f"Did you mean {', '.join(near)}?"
        if near
        else "The tables accelerators, cpus and local_hardware list those that are known."
    )
