import asyncio

from src.agent import Agent
from src.model import ModelResponse, ToolUse
from src.tools import ToolRegistry


class Scripted:
    def __init__(self, *responses):
        self.responses = list(responses)

    async def complete(self, messages, tools):
        return self.responses.pop(0)


def test_a_tool_that_does_not_exist_is_told_to_the_model():
    call = ModelResponse([], tool_uses=[ToolUse("1", "missing", {})])
    agent = Agent(Scripted(call, ModelResponse([], text="done")), ToolRegistry())
    assert asyncio.run(agent.run("question")) == "done"
    assert agent.messages[2]["content"][0]["is_error"]
