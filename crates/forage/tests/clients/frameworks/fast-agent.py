"""Runs fast-agent. The argument is the JSON from `frameworks.rs`. Prints the model's final message."""

import asyncio
import json
import pathlib
import sys

from fast_agent import FastAgent

GIVEN = json.loads(sys.argv[1])

# It reads JSON as YAML. These settings turn off progress output, logs and prompts.
SETTINGS = {
    "default_model": "generic.scripted",
    "generic": {"api_key": "none", "base_url": GIVEN["model"] + "/v1"},
    "mcp": {"servers": GIVEN["servers"]},
    "logger": {"type": "none", "progress_display": False, "show_chat": False, "show_tools": False},
}
settings = pathlib.Path(GIVEN["scratch"], "fast-agent.yaml")
settings.write_text(json.dumps(SETTINGS))
fast = FastAgent("tests", config_path=str(settings), parse_cli_args=False, quiet=True)


@fast.agent(instruction="You find code.", servers=list(GIVEN["servers"]))
async def main():
    async with fast.run() as agent:
        print(await agent.send(GIVEN["question"]))


asyncio.run(main())
