"""What a release says its tables were made of is everything that they depend on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers import history_world  # noqa: F401  (tests of the rules use the same digests)

from hwprices import providers, specs
from hwprices.landing.pages import Run, Unit, UnitResult
from hwprices.stage import inputs

PROGRAM = """
import json, sys, tempfile
from pathlib import Path

opened = set()
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        opened.add(str(arguments[0]))
sys.addaudithook(note)
from hwprices import providers
from hwprices.landing.pages import Landing
from hwprices.stage import stage
from hwprices.storage.store import Store
name, sample = sys.argv[1:]
landing = Landing(sample)
run = landing.latest_run(name)
with tempfile.TemporaryDirectory() as folder:
    before = set(opened)
    provider = providers.get(name)
    stage.stage(provider, run, landing, Store(folder), keep=1)
modules = [m.__file__ for n, m in sys.modules.items() if n.startswith("hwprices") and m.__file__]
print(json.dumps({"opened": sorted(opened), "modules": modules}))
"""

NOT_READING = (
    "__init__.py",
    "collect/",
    "landing/__init__.py",
    "landing/download.py",
    "landing/limits.py",
    "landing/retry.py",
    "landing/secrets.py",
    "settings.py",
    "storage/",
)
"""Modules that are imported with the readers and touch no row: they fetch, store and configure."""
