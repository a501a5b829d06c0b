"""Make the automations of deploy/prefect/automations.yaml that a Prefect server does not have yet.

An automation whose name exists is not changed, to keep actions that users have added. With a URL
for alerts all automations of the file are made again and notify it when they fire. This runs in a
separate process, because Prefect reads PREFECT_API_URL when it is imported:

    python -m hwprices.flows.automations deploy/prefect/automations.yaml

The URL is in the variable HWPRICES_NOTIFY_URL: other users could see a command-line argument.
"""

import os
import sys
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import yaml
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import get_client
from prefect.events.schemas.automations import AutomationCore
from prefect.types import SecretDict

from hwprices.flows.deployments import NOTIFY_URL

BLOCK = "hwprices-alerts"  # The block of the Prefect server that holds the URL, encrypted
SUBJECT = "{{ automation.name }}"
BODY = (
    "{{ automation.description }}{% if flow_run %}\n{{ flow_run.name }}:"
    " {{ flow_run.state.message }}\n{{ flow_run|ui_url }}{% endif %}"
)
"""Prefect fills in the run that triggered the automation, if there is one."""


def make(file: Path, notify_url: str = "") -> None:
    """Make the automations of a file, on the server that Prefect's settings name."""
    block = _alerts(notify_url) if notify_url else None
    with get_client(sync_client=True) as client:
        for planned in yaml.safe_load(file.read_text())["automations"]:
            if block is not None:
                planned["actions"] = _with_notification(planned["actions"], block)
            automation = AutomationCore.model_validate(planned)
            present = client.read_automations_by_name(automation.name)
            if not present:
                client.create_automation(automation)
            elif block is not None:
                client.update_automation(present[0].id, automation)


def _with_notification(actions: list[dict[str, Any]], block: UUID) -> list[dict[str, Any]]:
    """Add a notification to the actions, in place of do-nothing."""
    others = [action for action in actions if action["type"] != "do-nothing"]
    notification = {
        "type": "send-notification",
        "block_document_id": str(block),
        "subject": SUBJECT,
        "body": BODY,
    }
    return [*others, notification]


def _alerts(url: str) -> UUID:
    """Store the URL in an encrypted block of the server, and return the block's id.

    Messages are in Slack's format, which Mattermost, Rocket.Chat, Discord (its URL with /slack) and
    Teams' workflows also accept. https://api.slack.com/messaging/webhooks
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
