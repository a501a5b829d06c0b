"""The server of agents, asked through a real client, and what its answers promise."""

import json
import re
import subprocess
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

import hwprices
from hwprices.cli import servers
from hwprices.errors import HwpricesError
from hwprices.read.agents import catalog, tools
from hwprices.read.agents.answer import MAX_TOKENS, tokens_in
from hwprices.read.recommend import question as recommend
from tests.agents import harness, vendor
from tests.agents.harness import Question
from tests.helpers.cases import rows
from tests.helpers.prefect_server import free_port

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"

TOOL_NAMES = ["find", "price", "compare", "explain", "history", "recommend", "device", "coverage"]

MISTAKES = [tuple(row.values()) for row in rows("agents/mistakes", arguments=json.loads)]
"""A call, and a part of the error that says what to do."""


@pytest.fixture(scope="module")
def answers(sample_root: Path) -> list[Any]:
    """Ask every question and mistake in one session; the list of tools comes first."""
    calls = [(one.tool, one.arguments) for one in harness.questions()]
    calls += [(tool, arguments) for tool, arguments, _ in MISTAKES]
    return anyio.run(partial(harness.ask, sample_root, calls))


def test_every_question_is_answered_and_every_citation_holds(sample_root, answers) -> None:
    asked = harness.questions()
    own = answers[1 : len(asked) + 1]
    cited = harness.citations(own)
    assert len(cited) > 100
    assert harness.held(sample_root, cited) == cited
    scores = [harness.score(*pair, cited) for pair in zip(asked, own, strict=True)]
    assert not [score for score in scores if not score.is_right]
    assert len(scores) >= 80
    assert sum(score.question.origin == "agent" for score in scores) >= 20


def test_every_answer_says_what_it_does_not_cover(answers: list[Any]) -> None:
    for answer in answers[1 : len(harness.questions()) + 1]:
        assert answer.structured_content["not_covered"]
        assert "Not covered: " in answer.content[0].text
        figures = [one for one in harness.tree(answer.structured_content) if "price_id" in one]
        assert all({"currency", "age_days", "citation"} <= one.keys() for one in figures)


@pytest.mark.parametrize("question", harness.questions(), ids=lambda one: one.question[:40])
def test_expected_figures_are_on_the_vendors_page(question: Question) -> None:
    """The figures are the vendors': no code of the program gave them."""
    place = question.vendor.removeprefix("absent: ")
    if place.startswith("https://"):
        return
    if question.figure not in harness.PRICES:
        assert bool(vendor.having(place)) == (place == question.vendor)
        return
    right = float(question.expected)
    assert any(abs(float(figure) - right) <= 1e-6 for figure in vendor.stated(place))


def test_a_mistake_is_answered_with_what_to_do(answers: list[Any]) -> None:
    for (tool, _, part), answer in zip(MISTAKES, answers[-len(MISTAKES) :], strict=True):
        text = answer.content[0].text
        assert answer.is_error
        assert part in text
        assert f"Example: {tool}(" in text or tool == "sql"


def test_a_program_lists_eight_tools_that_only_read(answers: list[Any]) -> None:
    listed = answers[0]
    assert [tool.name for tool in listed] == TOOL_NAMES
    for tool in listed:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.destructive_hint
        assert re.search(r"For: |Call it ", tool.description)
        assert all(about["description"] for about in tool.input_schema["properties"].values())
    shown = [{"description": tool.description, **tool.input_schema} for tool in listed]
    assert tokens_in(json.dumps(shown)) < 2 * MAX_TOKENS


@pytest.mark.parametrize("name", servers.CLIENTS)
def test_the_page_shows_the_lines_of_each_client(name, monkeypatch) -> None:
    monkeypatch.setattr(servers, "program", lambda: "hwprices")
    lines, place = servers.config(name, "sample")
    page = PAGE.read_text(encoding="utf-8")
    assert f"\n{lines}\n" in page
    assert f"`{name}`" in page
    assert place.partition(": ")[2] in page or name == "claude"


def test_lines_of_a_client_start_the_server(tmp_path: Path) -> None:
    """They name the program and the dataset by their whole paths: a client starts elsewhere."""
    command = json.loads(servers.config("cursor", "data")[0])["mcpServers"]["hwprices"]
    assert Path(command["command"]).is_absolute()
    assert command["args"] == ["mcp", "--root", str(Path.cwd() / "data")]


def test_http_answers_this_machine_alone() -> None:
    """A page of a stranger in a browser of this machine gets no answer either."""
    port = free_port()
    command = [sys.executable, "-m", "hwprices", "mcp", "--root", "sample"]
    with subprocess.Popen([*command, "--http", str(port)], stderr=subprocess.PIPE) as server:
        try:
            url = server.stderr.readline().decode().strip()
            assert url == f"http://127.0.0.1:{port}/mcp"
            answer = anyio.run(partial(harness.ask_http, url, "find", {"question": "trn2"}))
            assert "Not sold" in answer.content[0].text
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            accept = {"accept": "application/json, text/event-stream"}
            stranger = httpx.post(url, json=body, headers={**accept, "host": "prices.example"})
            assert stranger.status_code in (403, 421)
        finally:
            server.terminate()


def test_every_argument_of_recommend_is_one_of_its_question() -> None:
    """One that is not would be ignored."""
    (tool,) = [one for one in catalog.TOOLS if one.name == "recommend"]
    known = {one.name for one in fields(recommend.Question)}
    assert set(tool.arguments) - {"model"} <= known


def test_explain_says_whether_a_citation_still_holds() -> None:
    data = hwprices.open("sample")
    (tool,) = [one for one in catalog.TOOLS if one.name == "explain"]
    cited = data.cite("p5.48xlarge us-east-1 on_demand").reference
    for text, status in ((cited, "SAME"), (cited.replace("=55.04", "=5.04"), "ALTERED")):
        answer = tools.call(data, tool, {"price": text})
        assert [one["status"] for one in answer.results] == [status]


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("select count(*) from range(100000000000)", "takes longer than 0.2 s"),
        ("select repeat('x', 20000)", "Select fewer columns"),
        ("select 1 as a, 2 as a", "2 columns named a"),
    ],
)
def test_sql_refuses_what_is_too_long(query, part, monkeypatch) -> None:
    monkeypatch.setattr(tools, "SQL_SECONDS", 0.2)
    with pytest.raises(HwpricesError, match=part):
        tools.call(hwprices.open("sample"), catalog.SQL, {"query": query})


def test_sql_says_that_there_are_more_rows() -> None:
    data = hwprices.open("sample")
    query = "select i from range({}) as numbers(i)"
    for count, is_more in ((tools.SQL_ROWS, False), (tools.SQL_ROWS + 1, True)):
        answer = tools.call(data, catalog.SQL, {"query": query.format(count)})
        assert [one["i"] for one in answer.results] == list(range(tools.SQL_ROWS))
        assert any("limit and offset" in text for text in answer.not_covered) == is_more


def test_a_recommended_machine_cites_the_price_of_its_purchase_option() -> None:
    """Azure's ND96isr H200 v5 costs 106 USD/h in one region on demand and as spot."""
    data = hwprices.open("sample")
    answer = tools.recommend(data, "llama-2-70b", provider="azure", option="on_demand")
    found = {
        one["machine"]: data.cite(one["price_id"]) for one in answer.results if "price_id" in one
    }
    assert found["Standard_ND96isr_H200_v5"].amount == 106
    assert {one.purchase_option for one in found.values()} == {"on_demand"}


def test_a_published_price_is_not_rounded() -> None:
    """The workstation with an RTX PRO 6000 costs 11,565 USD, the V100 at launch 10,664 USD."""
    data = hwprices.open("sample")
    owned = tools.recommend(data, "qwen3-32b", where="local").results
    assert 11565 in [one["purchase_price_usd"] for one in owned]
    device = tools.device(data, "nvidia-v100-sxm2-16gb").about["device"]
    assert device["launch_price_usd"] == 10664


def test_sql_reads_the_tables_and_nothing_else(sample_root: Path) -> None:
    queries = [
        "select count(*) as n from prices where provider = 'aws'",
        "select * from read_text('/etc/passwd')",
        "copy prices to 'prices.csv'",
        "selct 1",
    ]
    calls = [("sql", {"query": query}) for query in queries]
    listed, counted, *refused = anyio.run(partial(harness.ask, sample_root, calls, "--sql"))
    assert [tool.name for tool in listed] == [*TOOL_NAMES, "sql"]
    assert counted.structured_content["results"][0]["n"] > 1_000
    assert '{"n": ' in counted.content[0].text
    assert all(answer.is_error for answer in refused)
