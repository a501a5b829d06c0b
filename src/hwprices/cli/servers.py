"""Run servers: schedules (``admin deploy``, ``serve``, ``worker``) and tools (``admin mcp``)."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

import typer

from hwprices.cli.common import call, described
from hwprices.errors import HwpricesError, install_command

NAME = "hwprices"


@dataclass(frozen=True)
class Client:
    """A program that uses tools: its name, its configuration file, and the lines to put there."""

    title: str
    file: str
    lines: Callable[[Sequence[str]], str]


def _json(*path: str, **more: str) -> Callable[[Sequence[str]], str]:
    """Return a function that writes a command as JSON below ``path``, with more values."""

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
        root: the dataset; "" for the default one. A folder becomes an absolute path, because the
            program may start the server in another folder.

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
    """Return the path of this program, because a client may have another PATH."""
    beside = Path(sys.executable).parent / NAME
    return str(beside) if beside.exists() else NAME


SetupName = Literal["systemd", "compose", "kubernetes", "ecs"]  # The folders of deploy/


@described()
def deploy(
    setup: SetupName,
    job_template: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            show_default="deploy/kubernetes/job-template.json",
            help="The jobs of a Kubernetes work pool.",
        ),
    ] = None,
    notify_url: str | None = None,
) -> None:
    """Create the schedules on your own Prefect server."""
    from hwprices.flows import deployments

    deployments.deploy(setup, job_template, notify_url)


def serve() -> None:
    """Run the pipeline on its schedules until Ctrl-C."""
    from hwprices.flows import serve as schedules

    schedules.main()


def worker() -> None:
    """Run the scheduled flows of your own Prefect server."""
    from hwprices.flows import serve as schedules

    schedules.work()


@described()
def mcp(
    http: int | None = None,
    sql: bool = False,
    print_config: str | None = None,
) -> None:
    """Serve agents over the Model Context Protocol."""
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
            typer.echo("waiting for a client; --print-config prints its configuration", err=True)
        server.serve_stdio(made)
    else:
        typer.echo(f"http://{server.LOOPBACK}:{http}/mcp", err=True)
        server.serve_http(made, http)
