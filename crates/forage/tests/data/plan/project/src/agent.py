"""The loop: ask the model, run the tools it calls, give it their results, until it answers."""

import logging

from .model import Model, ModelResponse
from .tools import ToolRegistry
from .tools.base import ToolResult

log = logging.getLogger(__name__)

MAX_TURNS = 10


class Agent:
    def __init__(self, model: Model, tool_registry: ToolRegistry):
        self.model = model
        self.tool_registry = tool_registry
        self.messages: list[dict] = []

    async def run(self, question: str) -> str:
        """Answers one question. Ends after MAX_TURNS turns, whatever the model says."""
        self.messages.append({"role": "user", "content": question})
        for turn in range(MAX_TURNS):
            response = await self.model.complete(self.messages, self.tool_registry.schemas())
            self.messages.append({"role": "assistant", "content": response.content})
            if not response.tool_uses:
                return response.text
            log.debug("turn %d: %d tool calls", turn, len(response.tool_uses))
            results = await self._execute_tools(response)
            self.messages.append({"role": "user", "content": results})
        return "no answer within the limit of turns"

    async def _execute_tools(self, response: ModelResponse) -> list[dict]:
        """Runs the calls of one response, in their order."""
        # TODO: run independent calls at the same time
        results = []
        for tool_use in response.tool_uses:
            tool = self.tool_registry.get(tool_use.name)
            if tool is None:
                result = ToolResult(f"there is no tool {tool_use.name!r}", is_error=True)
            else:
                try:
                    result = await tool.execute(**tool_use.input)
                except Exception as error:
                    log.exception("tool %s failed", tool_use.name)
                    result = ToolResult(str(error), is_error=True)
            results.append(result.as_message(tool_use.id))
        return results
