"""The tools of a workspace as functions that a model calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Optional

from forage import ForageError, Workspace


class CalledTool(NamedTuple):
    """A tool: its arguments as a JSON schema, and the function that returns what the model is told."""

    name: str
    description: str
    schema: dict[str, Any]
    call: Callable[..., str]


def called_tools(workspace: Workspace, only: Optional[list[str]]) -> list[CalledTool]:
    return [
        CalledTool(tool["name"], tool["description"], tool["inputSchema"], _caller(workspace, tool["name"]))
        for tool in workspace.tools("mcp", only)
    ]


def _caller(workspace: Workspace, name: str) -> Callable[..., str]:
    def call(**arguments: Any) -> str:
        try:
            return workspace.call(name, arguments).text
        except ForageError as error:
            # The model can mend its call.
            return f"Error: {error.text}"

    return call
