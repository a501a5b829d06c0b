"""Compare SkyPilot's answers with those of ``find``: the machine and its price, 30 questions.

    make check-clients

SkyPilot is heavy (100 packages), so uv installs it into a separate environment, once.
tests/read/test_export_tools.py checks the other formats.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import polars as pl

import hwprices
from hwprices.read.export.tools import skypilot

PROJECT = Path(__file__).resolve().parents[1]

QUESTIONS = PROJECT / "tests" / "cases" / "tools" / "skypilot.csv"

SKYPILOT = "skypilot==0.14.1"

PANDAS = "pandas<3"
"""With pandas 3.1.1, SkyPilot fails on an accelerator that a cloud does not have."""

CATALOGS = Path(".sky") / "catalogs" / "v8"


def expected(data: hwprices.Dataset, question: dict[str, str]) -> Decimal:
    """Return the lowest price of ``find`` in the clouds of the catalog."""
    found = data.find(
        question["words"],
        provider=[question["cloud"]] if question["cloud"] else list(skypilot.CLOUDS),
        region=question["region"] or None,
    )
    sold = found.filter(~pl.col("flags").list.contains("not_offered_here"))
    price = sold["effective_hourly"].min()
    assert isinstance(price, Decimal)
    return price


def write_catalogs(data: hwprices.Dataset, home: Path) -> None:
    """Write the catalogs and their list of accelerators where SkyPilot looks for them."""
    data.export_as("skypilot", home / CATALOGS)
    names: dict[str, set[str]] = {}
    for cloud, label in (("aws", "AWS"), ("azure", "Azure"), ("gcp", "GCP")):
        table = pl.read_csv(home / CATALOGS / cloud / "vms.csv", infer_schema=False)
        for name in table["AcceleratorName"].drop_nulls().unique():
            names.setdefault(name, set()).add(label)
    common = home / CATALOGS / "common"
    common.mkdir()
    rows = [{"AcceleratorName": name, "Clouds": str(sorted(of))} for name, of in names.items()]
    pl.DataFrame(rows).sort("AcceleratorName").write_csv(common / "accelerators.csv")


def ask(questions: list[dict[str, str]], home: Path) -> list[tuple[str, str, float]]:
    """Ask the optimizer, with ``home`` for its home directory."""
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    with_skypilot = ["run", "--no-project", "--python", sys.executable, "--with", SKYPILOT]
    script = str(PROJECT / "tools" / "ask_skypilot.py")
    done = subprocess.run(
        [uv, *with_skypilot, "--with", PANDAS, "python", script],
        input=json.dumps(questions),
        env={**os.environ, "SKY_RUNTIME_DIR": str(home), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [tuple(answer) for answer in json.loads(done.stdout.splitlines()[-1])]


def main() -> int:
    """Print the questions with both answers; return 1 if any differ."""
    data = hwprices.open("sample")
    with QUESTIONS.open(newline="") as file:
        questions = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as home:
        write_catalogs(data, Path(home))
        answers = ask(questions, Path(home))
    wrong = 0
    for question, (machine, region, price) in zip(questions, answers, strict=True):
        ours = expected(data, question)
        same = abs(Decimal(repr(price)) - ours) < Decimal("1e-9")
        wrong += not same
        words = " ".join(filter(None, (question["words"], question["cloud"], question["region"])))
        print(f"{'ok' if same else 'NO':3} {words:45} {ours:15} {price:12.6f} {machine} {region}")
    print(f"SkyPilot answers {len(questions) - wrong} of {len(questions)} questions as find does")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
