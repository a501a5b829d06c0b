"""The command ``hwprices admin mcp``: the tools of agents. It needs the extra ``hwprices[mcp]``."""

import sys
from typing import Annotated

import typer

from hwprices.cli.common import call, shares
from hwprices.errors import HwpricesError, install_command

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
    from hwprices.read.agents import clients

    if print_config is not None:
        lines, place = clients.config(print_config, call().root)
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
