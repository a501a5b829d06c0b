"""Write the lines that tell a program of the server: each has a file and a form of its own."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from hwprices.errors import HwpricesError

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
    from hwprices.release.root import SAMPLE, default_root

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
