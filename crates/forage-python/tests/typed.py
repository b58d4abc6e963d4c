"""Uses every type of the package: `typed.py TREE`. mypy and pyright check it in strict mode, and a test runs it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Literal

import forage
from forage import AskEvent, CollectionSettings, FilterSettings, ModelSettings, TelemetryEvent

calls: list[str] = []


def on_telemetry(event: TelemetryEvent) -> None:
    status: Literal["found", "nothing_found", "unfinished", "cancelled", "error"] = event["status"]
    calls.append(f"{event['tool']} {status} {event['latency_ms'] >= 0} {event.get('retrieval.status')}")


def formatted(event: AskEvent) -> str:
    if event["type"] == "asking":
        return f"{event['model']} {event['turn']}/{event['turns']} {event['last']}"
    if event["type"] == "text":
        return event["text"]
    if event["type"] == "said":
        return f"{event['calls']} {event['input_tokens'] or 0 + (event['output_tokens'] or 0)} {event['cost_usd']}"
    if event["type"] == "failed":
        return event["error"] + event["then"]
    if event["type"] == "call_started":
        return f"{event['number']} {event['tool']} {event['arguments']}"
    if event["type"] == "call_ended":
        return f"{event['number']} {event['bytes'] + event['elapsed_ms']} {event['error']}"
    return str(event["results"])


def files(answer: forage.GrepAnswer) -> Iterator[str]:
    for file in answer:
        for line in file.lines or []:
            yield f"{file.path}:{line.line_number}: {line.text}"


def collections(workspace: forage.Workspace) -> list[int]:
    grep: forage.GrepAnswer = workspace.grep("again", output="uses", file_pattern=["*.py", "!none.py"])
    assert grep and len(grep) == len(list(grep)) and len(list(files(grep))) > 0
    rank: forage.RankAnswer = workspace.rank("where is it tried again", max_results=3, languages=("python",))
    paths: list[str] = [file.path for file in rank]
    entries: list[forage.ListEntry] = list(workspace.list("src", max_depth=1))
    lines: list[str] = list(workspace.read("src/main.py", start_line=1, end_line=3))
    matches: list[forage.SearchRecord] = list(workspace.search("agian", fuzzy=2, context_lines=1, file_pattern="*.py"))
    numbers: list[int] = [match.data.line_number for match in matches]
    kept: forage.KeywordSearchAnswer = workspace.keyword_search("where is it tried again", ["again"])
    explanations: list[str] = [file.explanation for file in kept]
    return [len(paths), len(entries), len(lines), len(numbers), len(explanations)]


def streams(workspace: forage.Workspace) -> int:
    count = 0
    with workspace.grep_each("again") as each:
        for file in each:
            count += file.match_count
    answer: forage.GrepAnswer | None = each.answer
    assert answer is not None and answer.match_count == count
    for record in workspace.search_each("again", context_lines=0):
        count += record.type == "match"
    return count


def failures(workspace: forage.Workspace) -> str:
    try:
        workspace.read("no/such/file")
    except forage.PathError as error:
        return f"{error.code} {error.message} {error.hint} {error.text} {error.transcript}"
    except (forage.SearchIndexError, forage.ForageError) as error:
        return error.code
    return ""


def settings() -> forage.Workspace:
    model: ModelSettings = {"model": "m", "base_url": "http://127.0.0.1:9/v1"}
    filter: FilterSettings = {"answer": "ids", "evidence": "compact"}
    collection: CollectionSettings = {"url": "http://127.0.0.1:1", "name": "docs", "encoder": "bm42", "timeout_ms": 500}
    return forage.Workspace(collection=collection, models=[model], filter=filter, on_telemetry=on_telemetry)


async def awaited_matches(tree: str) -> int:
    async with forage.AsyncWorkspace(tree, index=False) as workspace:
        grep, rank = await asyncio.gather(workspace.grep("again"), workspace.rank("again"))
        each: AsyncIterator[forage.GrepFile] = workspace.grep_each("again")
        count = 0
        async for file in each:
            count += file.match_count
        return len(grep) + len(rank) + count


def main(tree: str) -> None:
    with forage.Workspace(tree, index=False, without_model=True, exclude=("*.lock",), timeout_ms=20_000) as workspace:
        assert all(count > 0 for count in collections(workspace)), collections(workspace)
        assert streams(workspace) > 0 and failures(workspace).startswith("path ")
        called: forage.Answer = workspace.call("grep_search", {"pattern": "again"})
        assert called and called.text and isinstance(called, forage.GrepAnswer)
        tools: list[dict[str, object]] = workspace.tools("mcp", only=("grep_search",))
        assert [tool["name"] for tool in tools] == ["grep_search"] and len(workspace.roots) == 1
    looked_up: forage.LookupAnswer = settings().lookup("ORA-00942", max_results=1)
    hits: list[forage.LookupHit] = list(looked_up)
    assert not looked_up and hits == [] and looked_up.status == "store_unavailable" and len(calls) == 1
    try:
        forage.Workspace(tree, index=False, models=[{"model": "m", "base_url": "http://127.0.0.1:9/v1"}]).ask("?", watch=formatted)
    except forage.ModelsFailedError as error:
        assert error.transcript is not None
    assert asyncio.run(awaited_matches(tree)) > 0


if __name__ == "__main__":
    main(sys.argv[1])
