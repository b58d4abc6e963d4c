#!/usr/bin/env python3
"""A model that says what a script has it say, on the wires of the providers: for real clients, without a network.

    model.py SCRIPT LOG [--port PORT] [--server NAME]

Speaks Anthropic messages, OpenAI chat completions, OpenAI responses and Gemini's generateContent, streamed and whole, on
127.0.0.1; prints `listening on http://127.0.0.1:PORT` and serves until it is killed.

SCRIPT is JSON, or a file of it: a list of turns, each an object with some of

    "text": what the model says
    "calls": [{"tool": NAME, "arguments": {…}}, …]: tools by the names that the server NAME (`forage`) gives them. A call goes
        out by the name that the client offers: `mcp__forage__grep_search`, `forage-grep_search`. Where none is
        offered and the client has a tool with which deferred ones are found, the model calls that one first.
        Where the client takes code that calls tools, it gets code. {"name": NAME, "arguments": {…}} calls a tool by this
        very name, offered or not.
    "hang": true: nothing is answered until the client goes away

Which turn it is follows from the request alone, from the turns with calls that the conversation holds already: a request
that is sent again gets the same answer, and every new conversation begins at the first turn. A turn without calls ends a
script; what comes after the last is the text "done". A request that offers no tools at all (for a title, for a summary) is
beside the conversation: it is answered with "ok", or with the smallest JSON that fits the schema it names.

LOG gets a line of JSON for each request before it is answered: `wire` (null for what no wire knows), `method`, `path`,
`headers` without secrets, `body`; and of those that a wire knows `stream`, `offered` (the names of tools as the model sees
them), `results` (what came back from calls, as text, in order), `turn` (from 0; null beside the conversation) and `said`,
the answer with the names that the calls went out by. A client that goes through a proxy to elsewhere can be given this
server as the proxy: `CONNECT` is refused, and in the log.
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

# Nothing is left beside the sources.
sys.dont_write_bytecode = True

from wires import MODEL, WIRES  # noqa: E402

SECRET_HEADERS = {"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"}
# Seconds after which a hanging answer ends although the client is still there: no test waits for so long.
HANG_SECONDS = 600
# Tools with which a client's model finds those that are not in front of it.
FINDERS = {"ToolSearch", "tool_search"}
# The tool of Qwen Code that calls what was found.
CALLER = "tool_call"


def smallest(schema):
    """The smallest value that fits a JSON schema, of which Gemini writes the types in capitals."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = (kind[0] if isinstance(kind, list) else kind).lower()
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: smallest(properties.get(name, {})) for name in schema.get("required", properties)}
    return {"array": [], "integer": 0, "number": 0, "boolean": False, "null": None}.get(kind, "ok")


def texts(value):
    """All strings in a JSON value."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from texts(inner)


class Request:
    """What a request holds of the conversation, and how a script's calls are worded for it."""

    def __init__(self, wire, body, turns, server):
        self.wire, self.body, self.turns, self.server = wire, body, turns, server
        self.offered, self.made = wire.offered(body), wire.calls(body)
        self.finder = next((name for name in self.offered if name in FINDERS), None)
        # The turns that are none of the script's.
        self.added = FINDERS - {call.get("name") for turn in turns for call in turn.get("calls", [])}

    def answer(self):
        """Number and wording of the turn that it gets."""
        if not self.offered:
            schema = self.wire.schema(self.body)
            return None, {"text": "ok" if schema is None else json.dumps(smallest(schema)), "calls": []}
        number = sum(not set(turn) & self.added for turn in self.made)
        turn = self.turns[number] if number < len(self.turns) else {"text": "done"}
        calls = turn.get("calls", [])
        wanted = next((call["tool"] for call in calls if "tool" in call and not self.shown(call["tool"])), None)
        # What was found need not stand among the tools afterwards: nothing is looked for twice.
        if wanted and self.finder and not any(self.finder in turn for turn in self.made):
            said = {"name": self.finder, "arguments": {"query": self.wire.looked_for(self.mentioned(wanted), wanted)}}
            return number, {"text": "", "calls": [said]}
        said = [self.worded(call) for call in calls]
        return number, {"text": turn.get("text", ""), "calls": said, "hang": turn.get("hang", False)}

    def shown(self, tool):
        """The server's tool as the model sees it. Clients have tools of the same names themselves."""
        names = [*self.offered, *self.wire.found(self.body)]
        ends = [name for name in names if re.search(rf"(^|[^A-Za-z0-9]){re.escape(tool)}$", name)]
        # The bare name is the client's own where the server's has another and is to be found.
        own = self.finder and self.mentioned(tool)
        return next((name for name in ends if self.server in name), tool if tool in ends and not own else None)

    def mentioned(self, tool):
        """The tool's name where the request's text speaks of it."""
        name = re.compile(rf"\w*{re.escape(self.server)}[-_]+{re.escape(tool)}\b")
        return next((found.group(0) for text in texts(self.body) if (found := name.search(text))), None)

    def worded(self, call):
        """A call of the script as this client takes it."""
        arguments = call["arguments"]
        name = call.get("name") or self.shown(call["tool"])
        if name:
            return {"name": name, "arguments": arguments}
        name = self.mentioned(call["tool"]) or f"mcp__{self.server}__{call['tool']}"
        if self.wire.code(self.body):
            return {"name": name, "arguments": arguments, "code": True}
        if CALLER in self.offered:
            return {"name": CALLER, "arguments": {"name": name, "arguments": arguments}}
        return {"name": name, "arguments": arguments}


class Log:
    """A line for each request, whole before anything is answered."""

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
            return self.send_json(404, {"error": {"type": "not_found_error", "message": "there is no such page"}})
        model = {"id": MODEL, "object": "model", "type": "model", "created": 1, "owned_by": "tests", "display_name": MODEL}
        self.send_json(200, {"object": "list", "data": [model], "has_more": False})

    def do_CONNECT(self):
        self.server.log.write({"wire": None, "method": "CONNECT", "path": self.path})
        self.send_json(403, {"error": {"message": "there is no network"}})

    def do_POST(self):
        body = self.read_body()
        path = urllib.parse.urlsplit(self.path).path
        wire = next((wire for wire in WIRES if wire.fits(path)), None)
        if wire is None or not isinstance(body, dict):
            self.record(body=body)
            counts = "count" in path.lower() and "tokens" in path.lower()
            tokens = {"input_tokens": 100, "totalTokens": 100}
            return self.send_json(200 if counts else 404, tokens if counts else {"error": {"message": "no such wire"}})
        request = Request(wire, body, self.server.turns, self.server.name)
        turn, said = request.answer()
        streams = wire.streams(self.path, body)
        self.record(
            wire=wire.name,
            stream=streams,
            body=body,
            offered=request.offered,
            results=wire.results(body),
            turn=turn,
            said=said,
        )
        if said.get("hang"):
            return self.hang()
        # Ids differ from answer to answer, and hold the number of the turn.
        answer = {**said, "body": body, "number": len(request.made), "salt": uuid.uuid4().hex[:12]}
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
        """Waits until the client closes the connection: it has nothing more to say on it."""
        self.close_connection = True
        until = time.monotonic() + HANG_SECONDS
        while time.monotonic() < until:
            readable, _, _ = select.select([self.connection], [], [], 1)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that goes away in the middle of an answer is none of a test's troubles."""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("script")
    arguments.add_argument("log")
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--server", default="forage")
    given = arguments.parse_args()
    text = given.script if given.script.lstrip().startswith("[") else pathlib.Path(given.script).read_text("utf-8")
    server = Server(("127.0.0.1", given.port), Handler)
    server.turns, server.name, server.log = json.loads(text), given.server, Log(given.log)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
