"""Make the automations of deploy/prefect/automations.yaml that a Prefect server does not have yet.

One that is there by its name stays as it is, so that the actions that somebody put in stay too.
This runs as a process of its own, because Prefect reads PREFECT_API_URL when it is imported:

    python -m hwprices.flows.automations deploy/prefect/automations.yaml
"""

import sys
from pathlib import Path

import yaml
from prefect.client.orchestration import get_client
from prefect.events.schemas.automations import AutomationCore


def make(file: Path) -> None:
    """Make the automations of a file, on the server that Prefect's settings name."""
    with get_client(sync_client=True) as client:
        for planned in yaml.safe_load(file.read_text())["automations"]:
            automation = AutomationCore.model_validate(planned)
            if not client.read_automations_by_name(automation.name):
                client.create_automation(automation)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
