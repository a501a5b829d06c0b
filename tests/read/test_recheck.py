"""Citations compared with later releases: each thing that may become of a price."""

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import Result
from tests.helpers import ledger_provider as ledger
from tests.helpers import terminal
from tests.helpers.releases import fleet, stage

import hwprices
from hwprices.read.citation import Citation

pytestmark = pytest.mark.timeout(900)  # of the first test, which publishes all releases
A = {"type": "a-2", "vcpus": 2, "cents": 100, "currency": "USD"}
B = {"type": "b-4", "vcpus": 4, "cents": 400, "currency": "USD"}
C = {"type": "c-8", "vcpus": 8, "cents": 800, "currency": "USD"}
UNREADABLE = b'{"no": "list'


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ledger.Ledger]:
    """Six releases: as they were; a-2 at 1.10; read twice as high; c-8 gone; eu-1 lost; a-2 back.

    On the last day a-2 costs what it did on the first, as it is read now.
    """
    with ledger.installed(tmp_path_factory.mktemp("ledger")) as made:
        stage(made.store, "r1", fleet(2))
        _day(made, 1, [A, C], [B])
        dearer = A | {"cents": 110}
        _day(made, 2, [dearer, C], [B])
        made.program("/ CENTS", "/ CENTS * 2")
        _day(made, 3, [dearer, C], [B])
        _day(made, 4, [dearer], [B])
        _day(made, 5, [dearer], UNREADABLE)
        _day(made, 6, [A | {"cents": 50}], [B])
        yield made


def _day(cloud: ledger.Ledger, day: int, us: list[dict[str, object]], eu: object) -> None:
    cloud.collect(day, {"us-1": us, "eu-1": eu})  # type: ignore[dict-item]
    cloud.publish(day)


def cite(cloud: ledger.Ledger, name: str, day: int = 1) -> Citation:
    release = hwprices.open(cloud.root, ledger.version(day))
    return release.cite("", type=name)


OURS = "we changed the program that reads the pages on 2026-10-03"
WAITS = "not_collected, waiting for prices/eu-1; last seen on 2026-10-04"

OUTCOMES = {
    "same release": ("a-2", 1, ("SAME", "1", "2026-10-01", None, "")),
    "moved": ("a-2", 2, ("MOVED", "1.1", "2026-10-02", None, "")),
    "not moved": ("b-4", 2, ("SAME", "4", "2026-10-01", None, "")),
    "restated": ("b-4", 3, ("RESTATED", "8", "2026-10-03", None, OURS)),
    "moved and restated": ("a-2", 3, ("MOVED", "2.2", "2026-10-03", None, OURS)),
    "gone": ("c-8", 4, ("GONE", "", "2026-10-04", "2026-10-03", OURS)),
    "not collected": ("b-4", 5, ("UNREACHABLE", "", None, None, WAITS)),
}


@pytest.mark.parametrize(("name", "day", "expected"), OUTCOMES.values(), ids=OUTCOMES)
def test_what_became_of_a_price(cloud, name, day, expected) -> None:
    (answer,) = hwprices.open(cloud.root, ledger.version(day)).recheck(cite(cloud, name))
    values = answer.to_dict()
    days = (values[key] and values[key][:10] for key in ("since", "last_day"))
    assert (values["status"], values["amount"], *days, values["reason"]) == expected


def test_a_price_that_came_back_is_the_same(cloud: ledger.Ledger) -> None:
    (answer,) = hwprices.open(cloud.root, ledger.version(6)).recheck(cite(cloud, "a-2"))
    assert (answer.status, answer.amount, answer.reason) == (
        "SAME",
        Decimal(1),
        "it moved and came back",
    )


def test_a_release_before_the_citation_cannot_tell(cloud: ledger.Ledger) -> None:
    (answer,) = hwprices.open(cloud.root, ledger.version(1)).recheck(cite(cloud, "a-2", day=2))
    assert answer.status == "UNREACHABLE"


def test_an_altered_citation_is_not_compared(cloud: ledger.Ledger) -> None:
    data = hwprices.open(cloud.root, ledger.version(2))
    line = str(cite(cloud, "b-4"))
    answers = data.recheck(line.replace("b-4", "b-8"), line.replace("=4USD", "=3USD"), line)
    assert [answer.status for answer in answers] == ["ALTERED", "ALTERED", "SAME"]


def test_a_forged_check_is_compared_with_the_history(cloud: ledger.Ledger) -> None:
    forged = replace(cite(cloud, "b-4"), amount=Decimal(3))
    (answer,) = hwprices.open(cloud.root, ledger.version(2)).recheck(forged)
    assert (answer.status, answer.reason) == (
        "ALTERED",
        f"the history has 4 at {ledger.version(1)}",
    )


def run(cloud: ledger.Ledger, day: int, *arguments: str, stdin: str = "") -> Result:
    at = ["--root", str(cloud.root), "--version", ledger.version(day)]
    return terminal.run("recheck", *arguments, *at, stdin=stdin)


def test_the_exit_status_tells_the_worst(cloud: ledger.Ledger) -> None:
    same, moved = str(cite(cloud, "b-4")), str(cite(cloud, "a-2"))
    assert run(cloud, 2, same).exit_code == 0
    assert run(cloud, 2, same, moved).exit_code == 1
    assert run(cloud, 2, same, moved, same.replace("b-4", "b-8")).exit_code == 2
    assert run(cloud, 2, "no citation").exit_code == 2


def test_citations_come_from_files_and_stdin(cloud: ledger.Ledger, tmp_path: Path) -> None:
    file = tmp_path / "citations.md"
    file.write_text(f"- {cite(cloud, 'a-2').to_markdown()}\n- {cite(cloud, 'c-8')}\n")

    of_file = run(cloud, 2, str(file), "--json")
    of_stdin = run(cloud, 2, "-", "--json", stdin=file.read_text())

    assert of_file.stdout == of_stdin.stdout
    assert [one["status"] for one in json.loads(of_file.stdout)] == ["MOVED", "SAME"]


def test_a_line_names_old_and_new(cloud: ledger.Ledger) -> None:
    price_id = cite(cloud, "a-2").price_id
    result = run(cloud, 2, cite(cloud, "a-2").recheck.split()[-1])
    assert result.stdout == f"MOVED {price_id} 1 USD/h -> 1.1 USD/h since 2026-10-02\n"
