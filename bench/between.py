#!/usr/bin/env python3
"""Stands between a client and a server of the Model Context Protocol, for `clients.py`.

    between.py LOG COMMAND…    runs the command, passes on what both say line by line, and writes down when
    between.py LOG --answers   is itself a server with one tool, `long_answer`, whose answers are as long as is asked for

The log gets a line of JSON for each message: `at`, the seconds since this program started the command, `from` (`client` or
`server`), and the `message`.
"""

import json
import subprocess
import sys
import threading
import time

LOCK = threading.Lock()


def keep(log, at, who, line):
    try:
        record = {"at": at, "from": who, "message": json.loads(line)}
    except ValueError:
        return
    with LOCK, open(log, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def between(log, command):
    began = time.monotonic()
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def to_server():
        for line in sys.stdin.buffer:
            at = time.monotonic() - began
            server.stdin.write(line)
            server.stdin.flush()
            keep(log, at, "client", line)
        server.stdin.close()

    threading.Thread(target=to_server, daemon=True).start()
    for line in server.stdout:
        keep(log, time.monotonic() - began, "server", line)
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    return server.wait()


def long_answer(characters):
    """A text of so many characters, as results of searches look, no line of which is like another."""
    text, number = "", 0
    while len(text) < characters:
        number += 1
        text += f"src/part{number // 40}.rs:{number}: let reply = retry_request(&client, {number * 7919 % 10007})?;\n"
    return text[: characters - 1] + "\n"


TOOL = {
    "name": "long_answer",
    "description": "Gives an answer of so many characters.",
    "inputSchema": {
        "type": "object",
        "properties": {"characters": {"type": "integer", "description": "How many."}},
        "required": ["characters"],
    },
    "annotations": {"readOnlyHint": True},
    # Claude Code has it in front of its model from the start, as it has Forage's searches.
    "_meta": {"anthropic/alwaysLoad": True},
}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "forage", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": long_answer(int(params["arguments"]["characters"]))}]}
    return {} if method == "ping" else None


def answers():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        reply = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)


if __name__ == "__main__":
    if sys.argv[2] == "--answers":
        answers()
    else:
        sys.exit(between(sys.argv[1], sys.argv[2:]))
