"""Run flows by their schedules: ``hwprices admin deploy``, ``serve`` and ``worker``.

They need the extra ``hwprices[pipeline]``.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hwprices.cli.common import shares


class SetupName(StrEnum):
    """The set-ups in the project's folder deploy/."""

    SYSTEMD = "systemd"
    COMPOSE = "compose"
    KUBERNETES = "kubernetes"
    ECS = "ecs"


Template = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        show_default="deploy/kubernetes/job-template.json",
        help="The jobs of a Kubernetes work pool.",
    ),
]

NotifyUrl = Annotated[
    str | None,
    typer.Option(
        envvar="HWPRICES_NOTIFY_URL",
        help="A webhook as Slack has it; it gets a message when an automation fires. It is a"
        " secret: better set the variable.",
    ),
]


@shares()
def deploy(
    setup: Annotated[SetupName, typer.Argument(help="Which set-up of the folder deploy/.")],
    job_template: Template = None,
    notify_url: NotifyUrl = None,
) -> None:
    """Make the schedules on your own Prefect server.

    That is a work pool, the deployments and the automations, for a worker of a set-up in the folder
    deploy/; docs/operations.md has each in full. PREFECT_API_URL names the server. Run again after
    an update, it renews the deployments; with --notify-url the automations too. Scheduled runs
    write where HWPRICES_ROOT says in the environment of the worker. On one machine, to try,
    `hwprices admin serve` does it all.

    Example:

        hwprices admin deploy systemd
    """
    from hwprices.flows import deployments

    deployments.deploy(setup, job_template, notify_url)


@shares()
def serve() -> None:
    """Run the pipeline by its schedules, until Ctrl-C.

    Starts a Prefect server, the deployments, the automations and a worker on this machine; needs
    hwprices[pipeline].

    Example:

        hwprices admin serve
    """
    from hwprices.flows import serve as schedules

    schedules.main()


@shares()
def worker() -> None:
    """Run the scheduled flows of your own Prefect server.

    A worker of the work pool that `hwprices admin deploy` has made; PREFECT_API_URL names the
    server. It runs flows as processes, and ends them when it is ended (docs/operations.md). On
    Kubernetes flows are jobs of their own, and Prefect's own worker starts them.

    Example:

        hwprices admin worker
    """
    from hwprices.flows import serve as schedules

    schedules.work()
