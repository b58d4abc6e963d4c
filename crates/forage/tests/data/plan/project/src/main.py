"""The command line."""

import asyncio
import sys

from .agent import Agent
from .model import Model
from .tools import GrepSearchTool, ListDirectoryTool, ReadFileTool, ToolRegistry
from .transport import HttpTransport


def build_agent() -> Agent:
    registry = ToolRegistry()
    for tool in (ReadFileTool(), ListDirectoryTool(), GrepSearchTool()):
        registry.register(tool)
    return Agent(Model(HttpTransport.from_environment()), registry)


async def main(question: str) -> None:
    print(await build_agent().run(question))


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:])))
