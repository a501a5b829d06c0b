"""Declare the tools of the server as agents see them; ``tools.toml`` has the texts.

Imports nothing heavy, because a program that starts the server waits for this list. ``tools`` has
the functions that answer.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwprices.errors import HwpricesError


@dataclass(frozen=True)
class Tool:
    """One tool: its name, texts, arguments as JSON Schema, and an example."""

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
"""Python types of JSON Schema's types."""


with Path(__file__).with_name("tools.toml").open("rb") as _file:
    _DECLARED = tomllib.load(_file)


def _tool(declared: dict[str, Any]) -> Tool:
    arguments = {
        name: _DECLARED["shared"][name] if about == "shared" else about
        for name, about in declared["arguments"].items()
    }
    schemas = {
        name: {"type": "string", "description": about} if isinstance(about, str) else about
        for name, about in arguments.items()
    }
    required = tuple(declared["required"])
    return Tool(**(declared | {"arguments": schemas, "required": required}))


TOOLS = [_tool(declared) for declared in _DECLARED["tools"]]
"""The tools in the listed order."""

SQL = _tool(_DECLARED["sql"])
"""The tool of --sql."""
