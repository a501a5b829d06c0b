"""The environment of processes that run Prefect: nothing of the caller's settings or credentials."""

import os
from pathlib import Path


def clean_environment(home: Path) -> dict[str, str]:
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PREFECT_", "HWPRICES_", "AWS_", "AZURE_", "GOOGLE_"))
    }
    return {
        **kept,
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }
