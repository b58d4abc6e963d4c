"""read_file: the text of one file."""

import asyncio
from pathlib import Path

from ..base import Tool, ToolResult


class ReadFileTool(Tool):
    name = "read_file"
    description = "Reads a text file."
    input_schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

    async def execute(self, path: str) -> ToolResult:
        # TODO: refuse paths outside of the project
        text = await asyncio.to_thread(Path(path).read_text, "utf-8")
        return ToolResult(text)
