"""Make the automations of deploy/prefect/automations.yaml that a Prefect server does not have yet.

One that is there by its name stays as it is, so that the actions that somebody put in stay too;
with a URL for alerts the automations of this file are made anew, and tell it when they fire. This
runs as a process of its own, because Prefect reads PREFECT_API_URL when it is imported:

    python -m hwprices.flows.automations deploy/prefect/automations.yaml

The URL comes in the variable HWPRICES_NOTIFY_URL, because every user of a machine sees arguments.
"""

import os
import sys
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import yaml
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.events.schemas.automations import AutomationCore
from prefect.types import SecretDict

from hwprices.flows.deployments import NOTIFY_URL

BLOCK = "hwprices-alerts"  # The block of the Prefect server that holds the URL, encrypted
SUBJECT = "{{ automation.name }}"
BODY = (
    "{{ automation.description }}{% if flow_run %}\n{{ flow_run.name }}:"
    " {{ flow_run.state.message }}\n{{ flow_run|ui_url }}{% endif %}"
)
"""Prefect fills in the run that set an automation off, where one did."""


def make(file: Path, notify_url: str = "") -> None:
    """Make the automations of a file, on the server that Prefect's settings name."""
    block = _alerts(notify_url) if notify_url else None
    with get_client(sync_client=True) as client:
        for planned in yaml.safe_load(file.read_text())["automations"]:
            if block is not None:
                planned["actions"] = _told(planned["actions"], block)
            _make_one(client, AutomationCore.model_validate(planned), anew=block is not None)


def _make_one(client: SyncPrefectClient, automation: AutomationCore, *, anew: bool) -> None:
    present = client.read_automations_by_name(automation.name)
    if not present:
        client.create_automation(automation)
    elif anew:
        client.update_automation(present[0].id, automation)


def _told(actions: list[dict[str, Any]], block: UUID) -> list[dict[str, Any]]:
    """Return the actions with a notification in place of none, or after the others."""
    others = [action for action in actions if action["type"] != "do-nothing"]
    tell = {
        "type": "send-notification",
        "block_document_id": str(block),
        "subject": SUBJECT,
        "body": BODY,
    }
    return [*others, tell]


def _alerts(url: str) -> UUID:
    """Keep the URL in a block of the server, encrypted, and return the block's id.

    What is sent is what Slack takes, and what takes the same: Mattermost, Rocket.Chat, Discord (its
    address with /slack), Teams' workflows. https://api.slack.com/messaging/webhooks
    """
    block = CustomWebhookNotificationBlock(
        name=BLOCK,
        url="{{url}}",
        json_data={"text": "*{{subject}}*\n{{body}}"},
        secrets=SecretDict({"url": url}),
    )
    return cast(UUID, block.save(BLOCK, overwrite=True))


if __name__ == "__main__":
    make(Path(sys.argv[1]), os.environ.get(NOTIFY_URL, ""))
