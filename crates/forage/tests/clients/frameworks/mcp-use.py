"""Runs the agent of mcp-use. The argument is the JSON from `frameworks.rs`. Prints the model's final message."""

import asyncio
import json
import sys

from langchain_openai import ChatOpenAI
from mcp_use import MCPAgent, MCPClient

GIVEN = json.loads(sys.argv[1])


async def main():
    client = MCPClient.from_dict({"mcpServers": GIVEN["servers"]})
    model = ChatOpenAI(model="scripted", base_url=GIVEN["model"] + "/v1", api_key="none")
    agent = MCPAgent(llm=model, client=client, max_steps=8)
    print(await agent.run(GIVEN["question"]))
    await client.close_all_sessions()


asyncio.run(main())
