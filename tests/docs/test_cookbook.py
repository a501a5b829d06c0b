"""docs/cookbook.md: every Python example runs, over a folder, over HTTP and over S3."""

import functools
import http.server
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from tests.helpers.market import PRICES
from tests.helpers.object_store import s3

COOKBOOK = Path(__file__).parents[2] / "docs" / "cookbook.md"


def blocks(language: str) -> list[str]:
    """Return the examples marked with exactly these words."""
    return re.findall(rf"```{language}\n(.*?)```", COOKBOOK.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def data(market: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder ``data`` with a small release."""
    return shutil.copytree(market, tmp_path_factory.mktemp("cookbook") / "data")


def run(source: str, **names: object) -> dict[str, object]:
    """Run an example in a namespace of its own."""
    space: dict[str, object] = dict(names)
    exec(compile(source, str(COOKBOOK), "exec"), space)
    return space


def test_the_examples_over_a_folder_run(data, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(data)
    names = run("\n".join(blocks("python")))
    assert str(names["cheapest"]) == "55.0400000000"
    assert len(names["tables"]) > 10  # type: ignore[arg-type]
    assert names["why"].arithmetic == "55.04 USD/h, as the vendor states it"  # type: ignore[attr-defined]
    assert names["best"]["where"].sort().to_list() == ["cloud", "local"]  # type: ignore[index]


@pytest.fixture
def web(data: Path) -> Iterator[str]:
    """A web server with the folder that holds ``data``."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(data.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_example_over_http_runs(web: str) -> None:
    (example,) = blocks("python over http")
    assert "http://localhost:8000" in example
    names = run(example.replace("http://localhost:8000", web))
    assert len(names["same"]) == names["machines"].height > 0  # type: ignore[arg-type,attr-defined]


def test_the_example_over_s3_runs(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s3(monkeypatch, "cookbook") as url:
        client = boto3.client("s3", endpoint_url=url, region_name="us-east-1")
        for file in data.rglob("*"):
            if file.is_file() and "raw" not in file.parts and "staged" not in file.parts:
                client.upload_file(str(file), "cookbook", f"data/{file.relative_to(data)}")
        (example,) = blocks("python over s3")
        names = run(
            example.replace("s3://bucket", "s3://cookbook"),
            options={"aws_endpoint_url": url, "aws_allow_http": "true"},
            endpoint={"endpoint_override": url.removeprefix("http://"), "scheme": "http"},
        )
        assert names["dataset"].count_rows() == len(PRICES)  # type: ignore[attr-defined]
