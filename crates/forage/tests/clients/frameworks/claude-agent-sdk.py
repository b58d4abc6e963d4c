"""Runs Claude's agent SDK with the Claude Code of its wheel. The argument is the JSON from `frameworks.rs`. Prints the model's
final message."""

import asyncio
import json
import sys

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

GIVEN = json.loads(sys.argv[1])


async def main():
    options = ClaudeAgentOptions(
        mcp_servers={name: {"type": "stdio", **server} for name, server in GIVEN["servers"].items()},
        allowed_tools=[f"mcp__{name}" for name in GIVEN["servers"]],
        cwd=GIVEN["root"],
        env={
            "ANTHROPIC_BASE_URL": GIVEN["model"],
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    )
    async for message in query(prompt=GIVEN["question"], options=options):
        if isinstance(message, ResultMessage):
            print(message.result)


asyncio.run(main())
