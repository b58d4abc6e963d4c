"""grep_search: lines that match a regular expression."""

import asyncio
import re
from pathlib import Path

from ..base import Tool, ToolResult


class GrepSearchTool(Tool):
    name = "grep_search"
    description = "Searches the files below a directory."
    input_schema = {
        "type": "object",
        "properties": {"pattern": {"type": "string"}, "path": {"type": "string"}},
        "required": ["pattern"],
    }

    async def execute(self, pattern: str, path: str = ".") -> ToolResult:
        try:
            regex = re.compile(pattern)
        except re.error as error:
            return ToolResult(f"not a regular expression: {error}", is_error=True)
        lines = await asyncio.to_thread(self._search, regex, Path(path))
        return ToolResult("\n".join(lines) or "no match")

    def _search(self, regex: re.Pattern, root: Path) -> list[str]:
        found = []
        # TODO: skip binary files
        for file in sorted(root.rglob("*")):
            if file.is_file():
                for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1):
                    if regex.search(line):
                        found.append(f"{file}:{number}: {line}")
        return found
