"""The client of the model."""

import asyncio
from dataclasses import dataclass, field


@dataclass
class ToolUse:
    id: str
    name: str
    input: dict


@dataclass
class ModelResponse:
    content: list[dict]
    text: str = ""
    tool_uses: list[ToolUse] = field(default_factory=list)


class Model:
    def __init__(self, transport, attempts: int = 3):
        self.transport = transport
        self.attempts = attempts

    async def complete(self, messages: list[dict], tools: list[dict]) -> ModelResponse:
        for attempt in range(self.attempts):
            try:
                return await self.transport.send(messages, tools)
            except ConnectionError:
                # TODO: wait for as long as the server asks for
                await asyncio.sleep(2**attempt)
        raise RuntimeError(f"the model did not answer in {self.attempts} attempts")
