"""Shared code of the benchmarks: a server on this machine that answers in OpenAI's protocol, in place of a model.

Python 3.9 or newer, no packages.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# This text is valid for both forms of answers of `keyword_search`.
NOTHING_FOUND = "No relevant files found"


class FakeModel(BaseHTTPRequestHandler):
    """Answers every request with `NOTHING_FOUND`. Subclasses record requests and give other answers."""

    usage = None

    def message(self, request):
        """Returns the fields of the answer's message."""
        return {"content": NOTHING_FOUND}

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", **self.message(request)}
        answer = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        if self.usage:
            answer["usage"] = self.usage
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(model):
    """Starts a server with a subclass of `FakeModel`, until the program ends. Returns its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
