"""Shows how a program uses a workspace: `python search.py PATH`."""

from __future__ import annotations

import asyncio
import sys

import forage


def blocking(path: str) -> None:
    with forage.Workspace(path, index=False) as workspace:
        answer = workspace.grep("retry", max_results=5)
        print(answer.text)
        for file in answer.files:
            print(file.path, file.match_count, [line.line_number for line in file.lines or []])
        for piece in workspace.grep_each("retry"):
            print(piece.path, piece.match_count)
        print([hit.path for hit in workspace.rank("where is it tried again").files])
        try:
            workspace.read("no/such/file")
        except forage.PathError as error:
            print(error.code, error.hint)


async def concurrent(path: str) -> None:
    async with forage.AsyncWorkspace(path, index=False) as workspace:
        names, lines = await asyncio.gather(workspace.list("."), workspace.grep("def "))
        print(names.text, lines.match_count)


if __name__ == "__main__":
    blocking(sys.argv[1])
    asyncio.run(concurrent(sys.argv[1]))
