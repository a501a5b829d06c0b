"""Run servers: schedules (``admin deploy``, ``serve``, ``worker``) and tools (``admin mcp``).

They need the extra ``hwprices[pipeline]``.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from hwprices.cli.common import call, shares
from hwprices.errors import HwpricesError, install_command

NAME = "hwprices"


@dataclass(frozen=True)
class Client:
    """A program that uses tools: its name, the file that its lines go to, and how to write them."""

    title: str
    file: str
    lines: Callable[[Sequence[str]], str]


def _json(*path: str, **more: str) -> Callable[[Sequence[str]], str]:
    """Write a command into JSON, below ``path``, with more values beside it."""

    def lines(command: Sequence[str]) -> str:
        value: Any = {**more, "command": command[0], "args": list(command[1:])}
        for key in reversed([*path, NAME]):
            value = {key: value}
        return json.dumps(value, indent=2)

    return lines


def _toml(command: Sequence[str]) -> str:
    arguments = json.dumps(list(command[1:]))
    return f"[mcp_servers.{NAME}]\ncommand = {json.dumps(command[0])}\nargs = {arguments}"


CLIENTS: Mapping[str, Client] = {
    "claude": Client(
        "Claude Code",
        "run in a shell",
        lambda command: f"claude mcp add {NAME} -- {' '.join(map(quote, command))}",
    ),
    "claude-desktop": Client("Claude Desktop", "claude_desktop_config.json", _json("mcpServers")),
    "vscode": Client("VS Code", ".vscode/mcp.json", _json("servers", type="stdio")),
    "cursor": Client("Cursor", ".cursor/mcp.json", _json("mcpServers")),
    "windsurf": Client("Windsurf", "~/.codeium/windsurf/mcp_config.json", _json("mcpServers")),
    "zed": Client("Zed", "settings.json", _json("context_servers", source="custom")),
    "codex": Client("Codex", "~/.codex/config.toml", _toml),
    "gemini": Client("Gemini CLI", "~/.gemini/settings.json", _json("mcpServers")),
}
"""Programs by the name that --print-config takes."""


def config(name: str, root: str) -> tuple[str, str]:
    """Return the lines for a program, and where they go.

    Args:
        name: one of CLIENTS.
        root: the dataset; "" for the default one, which a program that starts the server elsewhere
            does not find: it becomes an absolute path.

    Raises:
        HwpricesError: there is no such program.
    """
    from hwprices.release.versions import SAMPLE, default_root

    client = CLIENTS.get(name)
    if client is None:
        raise HwpricesError(f"no program {name!r} is known", f"There are: {', '.join(CLIENTS)}.")
    place = root or default_root()
    if "://" not in place and place != SAMPLE:
        place = str(Path(place).absolute())
    return client.lines([program(), "mcp", "--root", place]), f"{client.title}: {client.file}"


def program() -> str:
    """Return the path of this program: what starts the server may have another PATH."""
    beside = Path(sys.executable).parent / NAME
    return str(beside) if beside.exists() else NAME


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


Http = Annotated[
    int | None,
    typer.Option(
        "--http",
        metavar="PORT",
        min=1,
        max=65_535,
        help="Serve streamable HTTP at http://127.0.0.1:PORT/mcp, in place of stdin and stdout.",
    ),
]

Sql = Annotated[bool, typer.Option("--sql", help="Add the tool sql: queries of the tables only.")]

PrintConfig = Annotated[
    str | None,
    typer.Option(
        "--print-config",
        metavar="PROGRAM",
        help="Print the lines that a program needs: claude, claude-desktop, vscode, cursor,"
        " windsurf, zed, codex or gemini.",
    ),
]


@shares("root", "version")
def mcp(http: Http = None, sql: Sql = False, print_config: PrintConfig = None) -> None:
    """Answer agents: a server of the Model Context Protocol.

    Eight tools that read the release and change nothing: find, price, compare, explain, history,
    recommend, device and coverage. A program such as an editor starts it; --print-config says
    how. Needs hwprices[mcp].

    Example:

        hwprices admin mcp --print-config claude

        hwprices admin mcp --root sample
    """
    if print_config is not None:
        lines, place = config(print_config, call().root)
        typer.echo(f"# {place}", err=True)
        typer.echo(lines)
        return
    try:
        from hwprices.read.agents import server
    except ModuleNotFoundError as missing:
        raise HwpricesError(
            f"the server needs {missing.name}", f"{install_command('mcp')}."
        ) from None
    made = server.make(call().root, call().release, sql=sql)
    if http is None:
        if sys.stdin.isatty():
            typer.echo("waiting for a program; --print-config says how one starts this", err=True)
        server.serve_stdio(made)
    else:
        typer.echo(f"http://{server.LOOPBACK}:{http}/mcp", err=True)
        server.serve_http(made, http)
