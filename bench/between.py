#!/usr/bin/env python3
"""A proxy between a client and a server of the Model Context Protocol, for `clients.py`.

    between.py LOG COMMAND…    runs the command, forwards messages in both directions, and logs them with their times
    between.py LOG --answers   serves one tool itself, `long_answer`, which returns a text of the requested length

The log gets a line of JSON for each message: `at`, the seconds since this program started the command, `from` (`client` or
`server`), and the `message`.
"""

import json
import subprocess
import sys
import threading
import time

LOCK = threading.Lock()


def log_message(log, at, sender, line):
    try:
        record = {"at": at, "from": sender, "message": json.loads(line)}
    except ValueError:
        return
    with LOCK, open(log, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def between(log, command):
    start = time.monotonic()
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def to_server():
        for line in sys.stdin.buffer:
            at = time.monotonic() - start
            server.stdin.write(line)
            server.stdin.flush()
            log_message(log, at, "client", line)
        server.stdin.close()

    threading.Thread(target=to_server, daemon=True).start()
    for line in server.stdout:
        log_message(log, time.monotonic() - start, "server", line)
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    return server.wait()


def long_answer(characters):
    """Returns a text with this number of characters. It looks like search results, and all its lines are different."""
    text, number = "", 0
    while len(text) < characters:
        number += 1
        text += f"src/part{number // 40}.rs:{number}: let reply = retry_request(&client, {number * 7919 % 10007})?;\n"
    return text[: characters - 1] + "\n"


TOOL = {
    "name": "long_answer",
    "description": "Returns a text with this number of characters.",
    "inputSchema": {
        "type": "object",
        "properties": {"characters": {"type": "integer", "description": "The number of characters."}},
        "required": ["characters"],
    },
    "annotations": {"readOnlyHint": True},
    # Claude Code must offer it to its model from the start, like Forage's searches.
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
        reply = {"error": {"code": -32601, "message": "unknown method"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)


if __name__ == "__main__":
    if sys.argv[2] == "--answers":
        answers()
    else:
        sys.exit(between(sys.argv[1], sys.argv[2:]))
