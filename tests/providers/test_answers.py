"""Answers of vendors in tests/cases/<provider>/answers.yaml, and the tables that come out.

``base`` has a record of each kind of page and where it is in the answer. A case says how its
records differ from it (or is read from the bundled sample, where it says nothing), and then the
rows: all of a table, or some of the sample's. ``refused.csv`` has changes of a record that cost it
alone: those that stand ``beside`` it in ``base`` are read as without it.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import FOLDER, entries, optional, rows
from tests.helpers.expected import assert_case, assert_has_rows
from tests.helpers.vendor_tables import Body, Tables, json_unit, read_sample, read_units

from hwprices.schemas.tables import TABLES

ABSENT = "(absent)"

Case = Mapping[str, Any]

PROVIDERS = sorted(file.parent.name for file in FOLDER.glob("*/answers.yaml"))


def changed(record: Case, change: Any) -> Any:
    """Return a record with other members; what is ABSENT is left out."""
    if not isinstance(change, dict):
        return change
    return {name: value for name, value in {**record, **change}.items() if value != ABSENT}


def units_of(provider: str, base: Case, case: Case) -> list[Body]:
    """Make the pages of a case."""
    units = []
    for records, page in base.items():
        for key in [key for key in case if key.split()[0] == records] or [records]:
            changes = case.get(key, page.get("usual", [{}]))
            if isinstance(changes, dict):
                content: Any = {n: changed(page["record"], one) for n, one in changes.items()}
            else:
                content = [changed(page["record"], one) for one in changes]
            for name in reversed(page["in"]):
                content = {name: content}
            region = key.partition(" ")[2] or page.get("region", "global")
            units.append(json_unit(provider, page.get("kind", records), content, region))
    return units


@pytest.fixture(scope="module")
def samples(project: Path) -> dict[str, Tables]:
    return {provider: read_sample(provider, project) for provider in PROVIDERS}


@pytest.mark.parametrize(
    ("provider", "name"),
    [(p, name) for p in PROVIDERS for name in entries(f"{p}/answers") if name != "base"],
)
def test_answers_give_these_rows(samples, provider: str, name: str, tmp_path: Path) -> None:
    read = entries(f"{provider}/answers")
    base, case = read["base"], read[name]
    is_sample = not any(key.split()[0] in base for key in case)
    assert {key.split()[0] for key in case} <= {*base, *TABLES, "refused", "counts"}
    if not is_sample:
        assert_case(read_units(provider, tmp_path, units_of(provider, base, case)), case)
        return
    for table in case.keys() & TABLES.keys():
        assert_has_rows(samples[provider][table], case[table])


def lines_of(tables: Tables) -> Counter[str]:
    """Count the lines of all tables, whatever page they are of."""
    return Counter(
        f"{table}: {row}"
        for table, frame in tables.rows.items()
        for row in frame.drop("raw_sha256", strict=False).iter_rows()
    )


YAML = dict.fromkeys(("change", "kept"), yaml.safe_load)

REFUSED = [
    (file.parent.name, row)
    for file in sorted(FOLDER.glob("*/refused.csv"))
    if file.parent.name in PROVIDERS
    for row in rows(f"{file.parent.name}/refused", word=optional, **YAML)
]


@pytest.mark.parametrize(("provider", "row"), REFUSED)
def test_what_is_not_understood_is_refused_by_itself(provider: str, row: Case, tmp_path) -> None:
    """``kept``: by table, how many lines are made of the record all the same."""
    base = entries(f"{provider}/answers")["base"]
    others, change = base[row["records"]]["beside"], row["change"]
    every = {"changed": change, **others} if isinstance(others, dict) else [change, *others]
    alone, together = (
        read_units(provider, tmp_path / name, units_of(provider, base, {row["records"]: listed}))
        for name, listed in (("alone", others), ("together", every))
    )
    refused = together.refused.select("table", "reason", "word", "occurrences").rows()
    assert refused == [(row["table"], row["reason"], row["word"], 1)]
    assert together.pages.unreadable == []
    assert lines_of(alone) <= lines_of(together)
    kept = (lines_of(together) - lines_of(alone)).elements()
    assert Counter(line.partition(":")[0] for line in kept) == row["kept"]
