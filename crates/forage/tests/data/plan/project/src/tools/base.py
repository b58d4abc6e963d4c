"""What every tool is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass
class ToolResult:
    text: str
    is_error: bool = False

    def as_message(self, tool_use_id: str) -> dict:
        return {"type": "tool_result", "tool_use_id": tool_use_id, "content": self.text, "is_error": self.is_error}


class Tool(ABC):
    name: str
    description: str
    input_schema: dict

    @abstractmethod
    async def execute(self, **arguments) -> ToolResult:
        """Runs the tool. What it raises becomes a result that says so."""
