"""Read what a stranger reads of the server's tools, and their arguments: ``tools.toml``.

It imports nothing heavy: a program that starts the server waits for this list. ``tools`` has the
function that answers each.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwprices.errors import HwpricesError


@dataclass(frozen=True)
class Tool:
    """One tool: its name, what a stranger reads of it, its arguments as JSON Schema, an example."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, Any]
    required: tuple[str, ...]
    example: str

    @property
    def input_schema(self) -> dict[str, Any]:
        """The arguments as JSON Schema."""
        return {
            "type": "object",
            "properties": dict(self.arguments),
            "required": list(self.required),
            "additionalProperties": False,
        }

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Check the arguments of a call.

        Raises:
            HwpricesError: one is unknown, missing or of another type.
        """
        unknown = sorted(set(arguments) - set(self.arguments))
        missing = [name for name in self.required if not str(arguments.get(name, "")).strip()]
        if unknown or missing:
            raise HwpricesError(
                f"{self.name} has no argument {unknown[0]!r}"
                if unknown
                else f"{self.name} needs the argument {missing[0]!r}",
                f"It takes: {', '.join(self.arguments)}.",
            )
        for name, value in arguments.items():
            kind = self.arguments[name]["type"]
            is_kind = isinstance(value, PYTHON_TYPES[kind])
            if not is_kind or (isinstance(value, bool) and kind != "boolean"):
                raise HwpricesError(f"the argument {name!r} is a {kind}, not {value!r}")


PYTHON_TYPES: Mapping[str, Any] = {
    "string": str,
    "number": int | float,
    "integer": int,
    "boolean": bool,
    "object": dict,
}
"""JSON Schema's types of arguments."""


def _read() -> list[Tool]:
    file = Path(__file__).with_name("tools.toml")
    declared = tomllib.loads(file.read_text(encoding="utf-8"))
    tools = []
    for tool in declared["tools"]:
        arguments = {
            name: declared["shared"][name] if about == "shared" else about
            for name, about in tool.pop("arguments").items()
        }
        schemas = {
            name: {"type": "string", "description": about} if isinstance(about, str) else about
            for name, about in arguments.items()
        }
        tools.append(Tool(arguments=schemas, required=tuple(tool.pop("required")), **tool))
    return tools


*TOOLS, SQL = _read()
"""The tools, in the order of the list that programs see; the server has SQL only with --sql."""
