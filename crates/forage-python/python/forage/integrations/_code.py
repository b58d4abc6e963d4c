"""Code that answers a query, as retrievers hand it on."""

from __future__ import annotations

from typing import Any

from forage import RankAnswer


def blocks(answer: RankAnswer) -> list[tuple[str, dict[str, Any]]]:
    """The lines of each place with what is known of it, the best file first."""
    return [
        (
            "\n".join(code.lines),
            {"source": file.path, "start_line": code.start_line, "end_line": code.end_line, "score": file.score},
        )
        for file in answer.files
        for code in file.code or []
    ]
