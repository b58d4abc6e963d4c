"""Runs OpenAI's Agents SDK over chat completions. The argument is JSON from `frameworks.rs`. Prints the model's final message."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI

GIVEN = json.loads(sys.argv[1])


async def main():
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=GIVEN["model"] + "/v1", api_key="none")
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(MCPServerStdio(params=server, name=name, client_session_timeout_seconds=60))
            for name, server in GIVEN["servers"].items()
        ]
        model = OpenAIChatCompletionsModel(model="scripted", openai_client=client)
        result = await Runner.run(Agent(name="tests", model=model, mcp_servers=servers), GIVEN["question"])
        print(result.final_output)


asyncio.run(main())
