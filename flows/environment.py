"""Set the defaults of the environment variables that Prefect reads when it is imported.

A variable that is already set stays as it is.
"""

import os
from pathlib import Path

from hwprices.settings import OBJECT_STORES

DEFAULTS = {
    # A fresh database takes up to 18 s on 2 cores, and took 110 s on 2 cores that four other
    # programs used; Prefect's own limit is 20 s.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}
"""For every process that runs a flow."""

QUIET = {"PREFECT_LOGGING_LEVEL": "CRITICAL", "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL"}
"""For a command that shows its own progress; a worker's log stays as Prefect has it."""


def set_defaults() -> None:
    """Set the defaults that every process needs."""
    _set(DEFAULTS)


def set_command_defaults(root: str) -> None:
    """Set the defaults of a command: Prefect keeps its state below the root, and logs nothing."""
    _set({**DEFAULTS, **QUIET, "PREFECT_HOME": prefect_home(root)})


def prefect_home(root: str) -> str:
    """Return the folder for Prefect's database and results: ``.prefect`` below the root.

    An object store cannot hold a database; it is then below ``data`` of the working directory.
    """
    folder = "data" if root.startswith(OBJECT_STORES) else root
    return str(Path(folder).resolve() / ".prefect")


def _set(variables: dict[str, str]) -> None:
    for name, value in variables.items():
        os.environ.setdefault(name, value)
