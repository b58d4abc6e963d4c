"""Tests Forage's server over stdio and HTTP with the official Python SDK, version 1 or 2.

    client.py FORAGE FIXTURES TREE

TREE contains `project` (the root), `home` (with `home/client`, a root that clients may choose) and `elsewhere` (which
they may not). Prints each check that passes, and stops with a traceback at the first failure.
"""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import jsonschema
import mcp
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

FORAGE, FIXTURES, TREE = sys.argv[1], sys.argv[2], Path(sys.argv[3])
LINE = int(version("mcp").split(".")[0])
Error = mcp.MCPError if LINE > 1 else mcp.McpError
TOOLS = {
    "keyword_search": {"query": "where are requests retried?", "search_terms": ["retry", "backoff"]},
    "grep_search": {"pattern": "retry"},
    "search_index": {"query": "retry"},
    "list_project_directory": {"path": "src"},
    "read_project_file": {"path": "src/retry.rs"},
}
SEARCH = TOOLS["keyword_search"]
# Milliseconds in which a cancelled call of 20 s must have ended. It usually takes a few, but seconds on a busy machine.
MAX_CANCEL_MS = 10_000
# Bytes of a large answer, twice the product's maximum.
LARGE = 200_000


def passed(check):
    print(f"ok: {check}", flush=True)


class Server:
    """A server command. Over stdio each client starts its own process. Over HTTP all clients share one."""

    def __init__(self, transport, command, environment=()):
        self.transport, self.command = transport, command
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(TREE / "home"),
            **dict(environment),
        }
        self.stderr = tempfile.NamedTemporaryFile("w")

    def __enter__(self):
        if self.transport == "http":
            self.process = subprocess.Popen(
                [*self.command, "--http", "127.0.0.1:0", "--sessions", "16"],
                env=self.environment,
                cwd=TREE / "project",
                stdin=subprocess.DEVNULL,
                stderr=self.stderr,
            )
            self.url = self.await_stderr(r"listening on (\S+)\n")
        return self

    def __exit__(self, *_):
        if self.transport == "http":
            self.process.terminate()
            assert self.process.wait(5) is not None

    def stderr_text(self):
        return Path(self.stderr.name).read_text()

    def await_stderr(self, pattern, seconds=10):
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.stderr_text())):
            assert time.monotonic() < end, f"stderr never matched {pattern!r}: {self.stderr_text()}"
            time.sleep(0.005)
        return found[1]

    @asynccontextmanager
    async def streams(self):
        if self.transport == "http":
            async with streamable_http_client(self.url) as streams:
                yield streams[0], streams[1]
        else:
            [command, *arguments] = self.command
            parameters = StdioServerParameters(
                command=command, args=arguments, env=self.environment, cwd=TREE / "project"
            )
            async with stdio_client(parameters, errlog=self.stderr) as streams:
                yield streams

    @asynccontextmanager
    async def client(self, era, **callbacks):
        """Connects a client. This includes the handshake if the protocol version needs one."""
        async with AsyncExitStack() as stack:
            if LINE > 1:
                client = await stack.enter_async_context(mcp.Client(self.streams(), mode=era, **callbacks))
                expected = "2025-11-25" if era == "legacy" else "2026-07-28"
                assert client.protocol_version == expected, client.protocol_version
            else:
                streams = await stack.enter_async_context(self.streams())
                client = await stack.enter_async_context(ClientSession(*streams, **callbacks))
                await client.initialize()
            yield client


def text(result):
    return "\n".join(block.text for block in result.content)


def is_error(result):
    return result.is_error if LINE > 1 else result.isError


def structured(result):
    return result.structured_content if LINE > 1 else result.structuredContent


async def tools_and_errors(transport, era):
    with Server(transport, [FORAGE, "mcp", "--root", str(TREE / "project")], {"FORAGE_FILTER": "lexical"}) as server:
        async with server.client(era) as client:
            tools = (await client.list_tools()).tools
            assert sorted(tool.name for tool in tools) == sorted(TOOLS), tools
            for tool in tools:
                assert tool.title and tool.description and tool.annotations, tool
            for name, arguments in TOOLS.items():
                result = await client.call_tool(name, arguments)
                assert not is_error(result) and "retry" in text(result), (name, result)
                assert structured(result) is None, (name, result)
            result = await client.call_tool("read_file", {"path": "../elsewhere/secret.txt"})
            assert is_error(result) and "secret" not in text(result).replace("secret.txt", ""), result
            result = await client.call_tool("grep_search", {"pattern": "["})
            assert is_error(result) and "pattern" in text(result), result
            result = await client.call_tool("grep_search", {"patern": "x"})
            assert is_error(result) and "pattern" in text(result), result
            try:
                raise AssertionError(await client.call_tool("no_such_tool", {}))
            except Error as error:
                assert error.error.code == -32602 and "grep_search" in error.error.message, error
    passed(f"{transport} {era}: tools are listed and answer, errors give advice, an unknown tool is -32602")


async def records(transport, era):
    command = [FORAGE, "mcp", "--output", "structured", "--root", str(TREE / "project")]
    with Server(transport, command, {"FORAGE_FILTER": "lexical"}) as server:
        async with server.client(era) as client:
            tools = (await client.list_tools()).tools
            assert all(tool.output_schema if LINE > 1 else tool.outputSchema for tool in tools), tools
            for name, arguments in TOOLS.items():
                # The SDK validates the records against the schema, and raises an exception if they don't match.
                result = await client.call_tool(name, arguments)
                assert not is_error(result) and structured(result)["truncated"] is False, (name, result)
            # Truncated, empty and refused results have records too. The SDK does not validate the records of errors.
            schemas = {tool.name: tool.output_schema if LINE > 1 else tool.outputSchema for tool in tools}
            for pattern, refused in (("retry", False), ("absent_from_everything", False), ("[", True)):
                result = await client.call_tool("grep_search", {"pattern": pattern, "max_results": 1})
                assert is_error(result) is refused, (pattern, result)
                jsonschema.validate(structured(result), schemas["grep_search"])
                assert ("error" in structured(result)) is refused, (pattern, result)
    passed(f"{transport} {era}: records of every tool and of errors pass the validation against the schema")


async def progress_and_cancellation(transport, era):
    with Server(transport, [FIXTURES]) as server:
        async with server.client(era) as client:
            updates = []

            async def progress(done, total, message):
                updates.append((done, message))

            result = await client.call_tool("slow", {"ms": 1700}, progress_callback=progress)
            assert text(result) == "1700 ms" and len(updates) >= 2 and updates == sorted(set(updates)), (result, updates)
            passed(f"{transport} {era}: a call of 1.7 s reports its progress: {updates}")

            before = server.stderr_text().count("slow: began")
            call = asyncio.create_task(client.call_tool("slow", {"ms": 20_000}))
            while server.stderr_text().count("slow: began") == before:
                await asyncio.sleep(0.005)
            cancelled = time.time() * 1000
            await cancel(client, call)
            stopped = await asyncio.to_thread(server.await_stderr, r"slow: stopped at (\d+)")
            elapsed = int(stopped) - cancelled
            assert elapsed < MAX_CANCEL_MS, f"the work continued for {elapsed:.0f} ms"
            # The session is still usable.
            assert text(await client.call_tool("noop", {})) == "done"
            passed(f"{transport} {era}: a cancelled call ends {elapsed:.0f} ms later")

            result = await client.call_tool("panics", {})
            assert is_error(result) and "panicked" in text(result), result
            assert len(text(await client.call_tool("large", {"bytes": LARGE}))) == LARGE
            passed(f"{transport} {era}: a panic is an error of its call, and {LARGE} bytes arrive completely")


async def cancel(client, call):
    """Cancels a call as the SDK does. Version 1 leaves the notification to the caller."""
    if LINE == 1:
        parameters = types.CancelledNotificationParams(requestId=client._request_id - 1, reason="given up")
        notification = types.CancelledNotification(params=parameters)
        await client.send_notification(types.ClientNotification(notification))
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


async def roots_and_model(transport, era):
    requests = []

    async def answer(context, parameters):
        requests.append(parameters)
        prompt = "".join(message.content.text for message in parameters.messages)
        assert "retry_request" in prompt, prompt
        content = types.TextContent(type="text", text="src/retry.rs: it retries requests")
        key = "stop_reason" if LINE > 1 else "stopReason"
        return types.CreateMessageResult(role="assistant", content=content, model="a-model", **{key: "endTurn"})

    def roots(*directories):
        async def listed(context):
            return types.ListRootsResult(roots=[types.Root(uri=directory.as_uri()) for directory in directories])

        return listed

    client_root = TREE / "home" / "client"
    with Server(transport, [FORAGE, "mcp"]) as server:
        async with server.client(era, list_roots_callback=roots(client_root)) as client:
            result = await client.call_tool("read_file", {"path": "hello.txt"})
            assert not is_error(result) and "from the client's root" in text(result), result
        async with server.client(era, list_roots_callback=roots(TREE / "elsewhere")) as client:
            result = await client.call_tool("read_file", {"path": "secret.txt"})
            assert is_error(result) and "mcp.client_roots" in text(result), result
        passed(f"{transport} {era}: a client's root is accepted where it may choose, and refused elsewhere")

        async with server.client(era) as client:
            result = await client.call_tool("keyword_search", SEARCH)
            assert is_error(result) and "no usable model is configured" in text(result), result
        for callbacks in [{}, {"list_roots_callback": roots(TREE / "project", client_root)}]:
            requests.clear()
            async with server.client(era, sampling_callback=answer, **callbacks) as client:
                result = await client.call_tool("keyword_search", SEARCH)
                assert not is_error(result), result
                assert "src/retry.rs: it retries requests" in text(result) and len(requests) == 1, (result, requests)
        passed(f"{transport} {era}: the client's model filters, even if the client has roots too")


async def main():
    async def all_checks(transport, era):
        for check in [tools_and_errors, records, progress_and_cancellation, roots_and_model]:
            await asyncio.wait_for(check(transport, era), 60)

    eras = ["legacy", "auto"] if LINE > 1 else ["legacy"]
    # We run the checks concurrently because they mostly wait.
    await asyncio.gather(*(all_checks(transport, era) for transport in ["stdio", "http"] for era in eras))
    print(f"mcp {version('mcp')}: all checks passed")


asyncio.run(main())
