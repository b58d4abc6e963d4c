"""Runs LangChain's agent with its MCP adapters. The argument is the JSON from `frameworks.rs`. Prints the model's final message."""

import asyncio
import json
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI

GIVEN = json.loads(sys.argv[1])


async def main():
    servers = {name: {**server, "transport": "stdio"} for name, server in GIVEN["servers"].items()}
    tools = await MultiServerMCPClient(servers).get_tools()
    names = [tool.name for tool in tools]
    # The adapters don't resolve name conflicts. Providers refuse duplicate names, and calls would reach only one of the tools.
    assert len(names) == len(set(names)), f"two tools have one name: {sorted(names)}"
    agent = create_agent(ChatOpenAI(model="scripted", base_url=GIVEN["model"] + "/v1", api_key="none"), tools)
    result = await agent.ainvoke({"messages": [{"role": "user", "content": GIVEN["question"]}]})
    print(result["messages"][-1].content)


asyncio.run(main())
