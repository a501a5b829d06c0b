"""Serve the tools of ``catalog`` by the Model Context Protocol, over stdio or HTTP.

Needs the extra ``hwprices[mcp]``. The release is opened in the background after the list of tools
was sent, because importing polars takes half a second.
"""

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as ListedTool

from hwprices import __version__
from hwprices.errors import HwpricesError
from hwprices.read.agents.catalog import SQL, TOOLS, Tool

if TYPE_CHECKING:
    from hwprices.read.dataset import Dataset

INSTRUCTIONS = """List prices of AI and cloud hardware, each traced to the vendor's page. Ask in a
few words: 8xH100 europe 1y. Every price has a price_id, currency, age and citation. Quote a figure
with its currency, the day it was seen and its citation, and say what not_covered says. Prices are
without tax, storage, network traffic and negotiated discounts, and say nothing of free capacity. If
a tool finds nothing, call coverage before you say that something is not sold."""

LOOPBACK = "127.0.0.1"  # The HTTP server has no login, so it listens only on this machine

OUTPUT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "release": {"type": "string"},
        "results": {"type": "array", "items": {"type": "object"}},
        "not_covered": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["release", "results", "not_covered"],
}
"""Values of every answer; each tool adds more."""

CHECK_INTERVAL = 60.0  # Seconds between checks for a newer release


class OpenRelease:
    """The release of the server, opened when first needed and kept open."""

    def __init__(self, root: str, version: str) -> None:
        self._root = root
        self._version = version
        self._lock = threading.Lock()
        self._opened: Dataset | None = None
        self._checked = 0.0
        self._is_warm = False

    def get(self) -> "Dataset":
        """Return the release.

        Raises:
            HwpricesError: there is none at the root.
        """
        from hwprices.read.agents.tools import KeptDataset

        with self._lock:
            now = time.monotonic()
            if self._opened is None or now - self._checked > CHECK_INTERVAL:
                self._checked = now
                newest = KeptDataset.at_root(self._root, self._version)
                if self._opened is None or newest.version != self._opened.version:
                    self._opened = newest
            return self._opened

    def warm(self) -> None:
        """Read tables and sheets in the background, by answering the example of each tool once."""
        if not self._is_warm:
            self._is_warm = True
            threading.Thread(target=self._warm, daemon=True).start()

    def _warm(self) -> None:
        from hwprices.read.agents.tools import call

        for tool in TOOLS:
            # the first question returns the same error
            with suppress(HwpricesError):
                call(self.get(), tool, {next(iter(tool.arguments)): tool.example})


def answer(
    release: OpenRelease, tools: Mapping[str, Tool], call: CallToolRequestParams
) -> CallToolResult:
    """Return a tool's answer, or an error with an example."""
    from hwprices.read.agents.tools import call as call_tool
    from hwprices.read.export.cells import plain

    tool = tools.get(call.name)
    if tool is None:
        return _error(f"unknown tool {call.name!r}. The tools: {', '.join(tools)}.")
    try:
        found = call_tool(release.get(), tool, call.arguments or {})
    except HwpricesError as error:
        argument = next(iter(tool.arguments))
        return _error(f'{error} Example: {tool.name}({argument}="{tool.example}")')
    text = TextContent(type="text", text=found.to_text())
    return CallToolResult(content=[text], structured_content=plain(found.to_dict()))


def _error(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def listed(tool: Tool) -> ListedTool:
    """Return a tool as the protocol lists it."""
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=dict(OUTPUT_SCHEMA),
        annotations=ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


def make(root: str, version: str = "latest", *, sql: bool = False) -> "Server[Any]":
    """Make the server for a release of a dataset; ``sql``: with the tool sql."""
    release = OpenRelease(root, version)
    tools = {tool.name: tool for tool in ([*TOOLS, SQL] if sql else TOOLS)}

    async def list_tools(_context: object, _params: object) -> ListToolsResult:
        release.warm()
        return ListToolsResult(tools=[listed(tool) for tool in tools.values()])

    async def call_tool(_context: object, params: CallToolRequestParams) -> CallToolResult:
        return await anyio.to_thread.run_sync(partial(answer, release, tools, params))

    return Server(
        "hwprices",
        version=__version__,
        title="hwprices: what AI and cloud hardware costs",
        instructions=" ".join(INSTRUCTIONS.split()),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_stdio(server: "Server[Any]") -> None:
    """Serve one program over stdin and stdout, until it closes them."""

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def serve_http(server: "Server[Any]", port: int) -> None:
    """Serve programs of this machine by streamable HTTP, at /mcp, until Ctrl-C."""
    import uvicorn

    app = server.streamable_http_app(host=LOOPBACK, json_response=True, stateless_http=True)
    uvicorn.run(app, host=LOOPBACK, port=port, log_level="warning")
