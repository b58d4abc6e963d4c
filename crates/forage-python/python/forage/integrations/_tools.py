"""The tools of a workspace as functions that a model calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Optional

from forage import ForageError, Workspace


class CalledTool(NamedTuple):
    """A tool: the JSON schema of its arguments, and the function that returns the text for the model."""

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
            # The model can correct its call.
            return f"Error: {error.text}"

    return call
