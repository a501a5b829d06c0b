"""Every command that answers: as JSON and CSV for programs, cut short by --limit, plain in a pipe."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.helpers.provider_status import write_status
from typer.testing import CliRunner

from hwprices.cli import app

LISTS = {
    "find": ["h100"],
    "price": ["d4s_v5"],
    "query": ["select * from prices"],
    "explain": ["m7g.large"],
    "tco": [],
    "history": ["h100"],
    "releases": [],
    "coverage": [],
    "quarantine": [],
}
"""Commands that list something, with arguments for which the market has an answer."""

SINGLE = {
    "show": [],
    "compare": ["g6.xlarge", "--equals"],
    "device": ["l4"],
    "status": [],
}
"""Commands whose answer is of one thing, or as long as the question: they have no --limit."""

ONLY_JSON = {"verify": [], "recommend": ["--model", "7B"]}

NEEDS_TWO_RELEASES = {"diff"}  # tests/read/test_history.py

WITHOUT_AN_ANSWER = {
    "demo", "export", "report", "prune", "check-sheet", "refresh", "preflight", "serve",
}  # fmt: skip
"""Commands that make or change something, or check what is no dataset."""

ANSWERS = {**LISTS, **SINGLE, **ONLY_JSON}
