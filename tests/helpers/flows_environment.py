"""The environment of processes that run Prefect: none of the caller's settings or credentials."""

import os
from pathlib import Path

PRIVATE = ("PREFECT_", "HWPRICES_", "AWS_", "AZURE_", "GOOGLE_")


def clean_environment(prefect_home: Path | None = None) -> dict[str, str]:
    """Return the environment for a child process.

    Prefect keeps its state in ``prefect_home``; without one it is where the command puts it.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith(PRIVATE)}
    variables |= {"NO_COLOR": "1", "COLUMNS": "200"}
    variables |= {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
    if prefect_home is not None:
        variables["PREFECT_HOME"] = str(prefect_home)
    return variables
