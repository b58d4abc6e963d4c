"""Runs Pydantic AI. The argument is the JSON from `frameworks.rs`. Prints the model's final message."""

import asyncio
import json
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

GIVEN = json.loads(sys.argv[1])


async def main():
    provider = OpenAIProvider(base_url=GIVEN["model"] + "/v1", api_key="none")
    toolsets = [
        MCPToolset(StdioTransport(server["command"], server["args"], env=server["env"]), id=name)
        for name, server in GIVEN["servers"].items()
    ]
    agent = Agent(OpenAIChatModel("scripted", provider=provider), toolsets=toolsets)
    async with agent:
        result = await agent.run(GIVEN["question"])
        print(result.output)


asyncio.run(main())
