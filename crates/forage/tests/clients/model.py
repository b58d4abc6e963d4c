#!/usr/bin/env python3
"""A scripted model for tests with real clients and without a network. It supports the protocols of all providers.

    model.py SCRIPT LOG [--port PORT] [--server NAME]

Serves Anthropic messages, OpenAI chat completions, OpenAI responses and Gemini's generateContent, with and without
streaming, on 127.0.0.1. Prints `listening on http://127.0.0.1:PORT` and runs until it is killed.

SCRIPT is JSON or the path of a JSON file. It is a list of turns, each an object with some of these fields:

    "text": the text of the model's message
    "calls": [{"tool": NAME, "arguments": {…}}, …]: tool calls. The tools have the names of the MCP server NAME (`forage`).
        The model uses the name that the client offers, for example `mcp__forage__grep_search` or `forage-grep_search`.
        If the client does not offer the tool but has a search tool for deferred tools, the model calls the search tool first.
        If the client expects code that calls tools, it gets code. {"name": NAME, "arguments": {…}} calls a tool by exactly
        this name, whether offered or not.
    "hang": true: the request is not answered until the client disconnects

The turn depends only on the request: it is the number of turns with calls in the conversation. So a repeated request gets
the same answer, and every new conversation starts with the first turn. A turn without calls ends a script. After the last
turn the answer is the text "done". A request without tools (for a title or a summary) is not part of the conversation. It
is answered with "ok", or with the smallest JSON that matches its schema.

LOG gets a line of JSON for each request before it is answered: `wire` (null for unknown protocols), `method`, `path`,
`headers` without secrets, and `body`. Requests of a known protocol also have `stream`, `offered` (the tool names that the
model sees), `results` (the results of calls as text, in order), `turn` (from 0, or null outside of the conversation) and
`said` (the answer with the tool names that the client gets). A client that needs a proxy can use this server as its proxy.
`CONNECT` requests are refused and logged.
"""

import argparse
import http.server
import json
import pathlib
import re
import select
import socket
import sys
import threading
import time
import urllib.parse
import uuid

# Do not write bytecode files next to the sources.
sys.dont_write_bytecode = True

from wires import MODEL, WIRES  # noqa: E402

SECRET_HEADERS = {"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"}
# Seconds after which a hanging answer ends even if the client is still connected. No test waits that long.
HANG_SECONDS = 600
# Tools of clients that search for deferred tools.
FINDERS = {"ToolSearch", "tool_search"}
# The tool of Qwen Code that calls a tool found by search.
CALLER = "tool_call"


def smallest(schema):
    """Returns the smallest value that matches a JSON schema. Gemini writes the types in upper case."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = (kind[0] if isinstance(kind, list) else kind).lower()
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: smallest(properties.get(name, {})) for name in schema.get("required", properties)}
    return {"array": [], "integer": 0, "number": 0, "boolean": False, "null": None}.get(kind, "ok")


def texts(value):
    """Yields all strings in a JSON value."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from texts(inner)


class Request:
    """The conversation in a request. Selects the turn, and translates the script's calls for the client."""

    def __init__(self, wire, body, turns, server):
        self.wire, self.body, self.turns, self.server = wire, body, turns, server
        self.offered, self.past_calls = wire.offered(body), wire.calls(body)
        self.finder = next((name for name in self.offered if name in FINDERS), None)
        # Calls of these tools are not part of the script.
        self.search_calls = FINDERS - {call.get("name") for turn in turns for call in turn.get("calls", [])}

    def answer(self):
        """Returns the number and the translated content of the turn."""
        if not self.offered:
            schema = self.wire.schema(self.body)
            return None, {"text": "ok" if schema is None else json.dumps(smallest(schema)), "calls": []}
        number = sum(not set(turn) & self.search_calls for turn in self.past_calls)
        turn = self.turns[number] if number < len(self.turns) else {"text": "done"}
        calls = turn.get("calls", [])
        missing_tool = next((call["tool"] for call in calls if "tool" in call and not self.visible_name(call["tool"])), None)
        # A found tool need not be in the list of tools afterwards, so we search only once.
        if missing_tool and self.finder and not any(self.finder in turn for turn in self.past_calls):
            query = self.wire.search_query(self.mentioned(missing_tool), missing_tool)
            return number, {"text": "", "calls": [{"name": self.finder, "arguments": {"query": query}}]}
        translated = [self.translate(call) for call in calls]
        return number, {"text": turn.get("text", ""), "calls": translated, "hang": turn.get("hang", False)}

    def visible_name(self, tool):
        """Returns the name of the server's tool as the model sees it. Clients can have their own tools with the same name."""
        names = [*self.offered, *self.wire.found(self.body)]
        matches = [name for name in names if re.search(rf"(^|[^A-Za-z0-9]){re.escape(tool)}$", name)]
        # The bare name is the client's own tool if the server's tool is deferred under another name.
        is_client_tool = self.finder and self.mentioned(tool)
        return next((name for name in matches if self.server in name), tool if tool in matches and not is_client_tool else None)

    def mentioned(self, tool):
        """Returns the full name of the tool if the text of the request mentions it."""
        name = re.compile(rf"\w*{re.escape(self.server)}[-_]+{re.escape(tool)}\b")
        return next((found.group(0) for text in texts(self.body) if (found := name.search(text))), None)

    def translate(self, call):
        """Translates a call of the script for this client."""
        arguments = call["arguments"]
        name = call.get("name") or self.visible_name(call["tool"])
        if name:
            return {"name": name, "arguments": arguments}
        name = self.mentioned(call["tool"]) or f"mcp__{self.server}__{call['tool']}"
        if self.wire.code(self.body):
            return {"name": name, "arguments": arguments, "code": True}
        if CALLER in self.offered:
            return {"name": CALLER, "arguments": {"name": name, "arguments": arguments}}
        return {"name": name, "arguments": arguments}


class Log:
    """The log. Each line is written completely before the request is answered."""

    def __init__(self, path):
        self.file, self.lock = open(path, "w", encoding="utf-8"), threading.Lock()

    def write(self, record):
        with self.lock:
            self.file.write(json.dumps(record) + "\n")
            self.file.flush()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def record(self, **more):
        url = urllib.parse.urlsplit(self.path)
        query = [(key, value) for key, value in urllib.parse.parse_qsl(url.query) if key != "key"]
        path = url.path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in SECRET_HEADERS}
        record = {"wire": None, "method": self.command, "path": path, "headers": headers, **more}
        self.server.log.write(record)

    def do_GET(self):
        self.record()
        path = urllib.parse.urlsplit(self.path).path
        if not path.rstrip("/").endswith("/models"):
            return self.send_json(404, {"error": {"type": "not_found_error", "message": "page not found"}})
        model = {"id": MODEL, "object": "model", "type": "model", "created": 1, "owned_by": "tests", "display_name": MODEL}
        self.send_json(200, {"object": "list", "data": [model], "has_more": False})

    def do_CONNECT(self):
        self.server.log.write({"wire": None, "method": "CONNECT", "path": self.path})
        self.send_json(403, {"error": {"message": "no network access"}})

    def do_POST(self):
        body = self.read_body()
        path = urllib.parse.urlsplit(self.path).path
        wire = next((wire for wire in WIRES if wire.fits(path)), None)
        if wire is None or not isinstance(body, dict):
            self.record(body=body)
            counts = "count" in path.lower() and "tokens" in path.lower()
            tokens = {"input_tokens": 100, "totalTokens": 100}
            return self.send_json(200 if counts else 404, tokens if counts else {"error": {"message": "unknown wire"}})
        request = Request(wire, body, self.server.turns, self.server.name)
        turn, response = request.answer()
        streams = wire.streams(self.path, body)
        self.record(
            wire=wire.name,
            stream=streams,
            body=body,
            offered=request.offered,
            results=wire.results(body),
            turn=turn,
            said=response,
        )
        if response.get("hang"):
            return self.hang()
        # Ids are unique for each answer, and contain the number of the turn.
        answer = {**response, "body": body, "number": len(request.past_calls), "salt": uuid.uuid4().hex[:12]}
        self.send_events(wire.events(answer)) if streams else self.send_json(200, wire.whole(answer))

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            text = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                text += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            return json.loads(text)
        except ValueError:
            return text.decode("utf-8", "replace")

    def send_json(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def send_events(self, events):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            named = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
            data = event if isinstance(event, str) else json.dumps(event)
            text = f"{named}data: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def hang(self):
        """Waits until the client closes the connection. The client sends nothing else on it."""
        self.close_connection = True
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            readable, _, _ = select.select([self.connection], [], [], 1)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Ignores clients that disconnect during an answer."""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("script")
    arguments.add_argument("log")
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--server", default="forage")
    options = arguments.parse_args()
    text = options.script if options.script.lstrip().startswith("[") else pathlib.Path(options.script).read_text("utf-8")
    server = Server(("127.0.0.1", options.port), Handler)
    server.turns, server.name, server.log = json.loads(text), options.server, Log(options.log)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
