"""list_directory: what is in a directory."""

import asyncio
from pathlib import Path

from ..base import Tool, ToolResult


class ListDirectoryTool(Tool):
    name = "list_directory"
    description = "Lists the entries of a directory."
    input_schema = {"type": "object", "properties": {"path": {"type": "string"}}}

    async def execute(self, path: str = ".") -> ToolResult:
        entries = await asyncio.to_thread(self._entries, Path(path))
        return ToolResult("\n".join(entries))

    def _entries(self, directory: Path) -> list[str]:
        return sorted(entry.name + ("/" if entry.is_dir() else "") for entry in directory.iterdir())
