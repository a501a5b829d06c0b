"""The reader's commands on a small dataset, as a person or a program calls them."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.helpers import make

import hwprices
from hwprices.publish import release
from hwprices.storage.store import Store


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    where = tmp_path_factory.mktemp("dataset")
    store = Store(where)
    make.stage_frames(store, "r1", make.world(20))
    release.publish(store, now=lambda: datetime(2026, 8, 1, tzinfo=UTC))
    return where


def call(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("hwprices")
    return subprocess.run(
        [command, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_releases(root):
    done = call("releases", "--root", str(root))
    assert "20260801T000000Z" in done.stdout
    assert "latest" in done.stdout
    listed = json.loads(call("releases", "--root", str(root), "--json").stdout)
    assert listed[0]["rows"]["prices"] == 20


def test_show(root):
    done = call("show", "--root", str(root))
    assert done.returncode == 0
    assert "20260801T000000Z" in done.stdout
    assert "prices" in done.stdout


def test_verify_finds_an_altered_file(root, tmp_path):
    import shutil

    assert "is whole" in call("verify", "--root", str(root)).stdout
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    victim = next((copy / "releases").rglob("prices/**/*.parquet"))
    victim.write_bytes(victim.read_bytes() + b"x")
    done = call("verify", "--root", str(copy))
    assert done.returncode == 1
    assert str(victim) in done.stderr


def test_query(root):
    done = call("query", "select count(*) as n from prices", "--root", str(root), "--json")
    assert json.loads(done.stdout) == [{"n": 20}]
    assert "20" in call("query", "select count(*) as n from prices", "--root", str(root)).stdout
    wrong = call("query", "select nothing from nowhere", "--root", str(root))
    assert wrong.returncode == 2
    assert "Tables: " in wrong.stderr


def test_device(root):
    done = call("device", "nvidia-h100-sxm5-80gb", "--root", str(root), "--json")
    answer = json.loads(done.stdout)[0]
    assert answer["device_id"] == "nvidia-h100-sxm5-80gb"
    assert {r["dtype"]: r["rate"] for r in answer["dense_rates"]}[
        "bf16"
    ] == 989.4  # case S2: dense, not 1,979
    assert "989.4" in call("device", "H100 SXM", "--root", str(root)).stdout
    nobody = call("device", "hopperh99", "--root", str(root))
    assert nobody.returncode == 2
    assert len(nobody.stderr.strip().splitlines()) == 1


def test_recommend_and_tco(root):
    done = call(
        "recommend",
        "--parameters",
        "7B",
        "--workload",
        "lora",
        "--where",
        "local",
        "--root",
        str(root),
        "--json",
    )
    found = json.loads(done.stdout)
    assert any(row["rank"] == 1 and row["excluded"] is None for row in found)
    assert (
        "machines fit"
        in call("recommend", "--parameters", "7B", "--workload", "lora", "--root", str(root)).stdout
    )
    assert "DGX" in call("tco", "--root", str(root)).stdout


@pytest.mark.parametrize(
    "command",
    [
        ["releases"],
        ["verify"],
        ["show"],
        ["query", "select 1"],
        ["device", "l4"],
        ["explain", "m5.large"],
        ["tco"],
    ],
)
def test_no_dataset_is_one_line(command, tmp_path):
    done = call(*command, "--root", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("error: no release in")
    assert len(done.stderr.strip().splitlines()) == 1


def test_inside_a_checkout_the_root_is_found(root, tmp_path):
    import shutil

    shutil.copytree(root, tmp_path / "data")
    (tmp_path / "deep/er").mkdir(parents=True)
    assert "20260801T000000Z" in call("releases", cwd=tmp_path / "deep/er").stdout


def test_brackets_in_a_message_are_words_not_styles(tmp_path):
    """rich takes [pipeline] for markup and leaves it out."""
    done = call("releases", "--root", str(tmp_path / "[pipeline]"))
    assert "[pipeline]" in done.stderr


def test_prune_asks_first(root, tmp_path):
    import shutil

    shutil.copytree(root, tmp_path / "data")
    (tmp_path / "data/releases/left-over").mkdir()
    (tmp_path / "data/releases/left-over/x.parquet").write_text("of a killed publisher")
    assert (
        call("prune", "--root", str(tmp_path / "data")).returncode != 0
    )  # no answer, nothing deleted
    assert (tmp_path / "data/releases/left-over/x.parquet").exists()
    assert "left-over" in call("prune", "--root", str(tmp_path / "data"), "--yes").stdout


def test_help_names_every_command():
    text = call("--help").stdout
    for command in (
        "releases",
        "verify",
        "show",
        "query",
        "explain",
        "device",
        "recommend",
        "tco",
        "prune",
    ):
        assert command in text


def test_package_functions_answer_too(root):
    data = hwprices.open(root)
    assert hwprices.device(data, "nvidia-l4").height == 1
    assert hwprices.recommend("7B", "lora", dataset=data).height > 0
    with pytest.raises(AttributeError):
        _ = data.no_such_table
    assert "prices" in dir(data)
    assert "20260801T000000Z" in repr(data)
