"""Code that answers a query, as retrievers hand it on."""

from __future__ import annotations

from typing import Any, NamedTuple

from forage import RankAnswer


class CodeBlock(NamedTuple):
    """Lines of a file. The id is its path with the numbers of the first and last line, the same in every call."""

    id: str
    text: str
    metadata: dict[str, Any]
    score: float


def blocks(answer: RankAnswer) -> list[CodeBlock]:
    """The lines of each place with what is known of it, the best file first."""
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
