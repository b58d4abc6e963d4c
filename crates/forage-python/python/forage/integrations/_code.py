"""Ranked code for the retrievers."""

from __future__ import annotations

from typing import Any, NamedTuple

from forage import RankAnswer


class CodeBlock(NamedTuple):
    """Lines of a file. The id is the path with the numbers of the first and last line, and is the same in every call."""

    id: str
    text: str
    metadata: dict[str, Any]
    score: float


def blocks(answer: RankAnswer) -> list[CodeBlock]:
    """Returns the lines of each result with their metadata, best file first."""
    return [
        CodeBlock(
            f"{file.path}:{code.start_line}-{code.end_line}",
            "\n".join(code.lines),
            {"source": file.path, "start_line": code.start_line, "end_line": code.end_line},
            file.score,
        )
        for file in answer.files
        for code in file.code or []
    ]
