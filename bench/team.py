"""Tests a team's server under load: two replicas of `forage mcp --http` behind nginx, and 200 callers of `wrk`.

    python bench/team.py FORAGE ROOT... [--minutes 10] [--callers 200] [--qdrant URL] [--words FILE] [--restart]

FORAGE is a release build. With `--qdrant`, the Qdrant server must have a filled collection `code`, in which the words of FILE (one
per line) are looked up. `nginx` and `wrk` are Debian packages. Every caller sends its next call as soon as it has an answer. With
`--restart`, each replica is restarted during the test, one after the other. Prints the times from `wrk`, the number of errors, and
the peak memory of each replica. Checks that the audit log and `/metrics` count as many calls as were made.
"""

import argparse
import hashlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

CALLERS = {
    "grep_search": [{"pattern": "fn main"}, {"pattern": "TODO", "max_results": 20}, {"pattern": "retry", "path": "."}],
    "search_index": [{"query": "where are retries handled"}, {"query": "parse the command line"}],
    "list_directory": [{"path": "."}],
    "read_file": [],
}

LUA = """
local bodies = {}
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
local tokens = {}
for token in string.gmatch(os.getenv("TOKENS"), "%S+") do tokens[#tokens + 1] = token end
local threads = {}
function setup(thread)
  thread:set("id", #threads)
  table.insert(threads, thread)
end
function init()
  math.randomseed(id)
  errors, others, last = 0, 0, ""
end
function request()
  local headers = {
    ["Content-Type"] = "application/json",
    ["Accept"] = "application/json, text/event-stream",
    ["MCP-Protocol-Version"] = "2025-11-25",
    ["Authorization"] = "Bearer " .. tokens[math.random(#tokens)],
  }
  return wrk.format("POST", "/mcp", headers, bodies[math.random(#bodies)])
end
function response(status, headers, body)
  if status ~= 200 then
    others = others + 1
    last = status .. " " .. body
  elseif string.find(body, '"isError":true', 1, true) or not string.find(body, '"result"', 1, true) then
    errors = errors + 1
    last = body
  end
end
function done(summary, latency)
  local errors, others, last = 0, 0, ""
  for _, thread in ipairs(threads) do
    errors = errors + thread:get("errors")
    others = others + thread:get("others")
    if thread:get("last") ~= "" then last = thread:get("last") end
  end
  io.write(string.format("requests %d\\nerrors %d\\nstatus %d\\nsocket %d\\np50 %.1f\\np90 %.1f\\np99 %.1f\\nmax %.1f\\nseconds %.1f\\n",
    summary.requests, errors, others,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(90) / 1000, latency:percentile(99) / 1000, latency.max / 1000,
    summary.duration / 1000000))
  if last ~= "" then io.write("last " .. string.sub(last, 1, 300) .. "\\n") end
end
"""

NGINX = """
worker_processes 1;
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/nginx.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  upstream forage {{ {servers} keepalive 256; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://forage;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host forage.example;
      proxy_read_timeout 120s;
      # A stopping replica refuses connections and closes idle ones. Then nginx tries the other one.
      proxy_next_upstream error timeout http_503 non_idempotent;
    }}
  }}
}}
"""


def free_port():
    with socket.socket() as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        return free_socket.getsockname()[1]


class Replica:
    def __init__(self, forage, directory, roots, qdrant, number):
        self.directory, self.number, self.port = directory, number, free_port()
        home = directory / f"home{number}"
        home.mkdir()
        lookup = f'[retrieval]\nenable_keyword_tool = true\nurl = "{qdrant}"\n' if qdrant else ""
        (home / "config.toml").write_text(lookup)
        self.environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        self.command = [forage, "--config", str(home / "config.toml"), "mcp", "--http", f"127.0.0.1:{self.port}"]
        self.command += ["--tokens", str(directory / "tokens.toml"), "--audit", str(directory / f"calls{number}.jsonl"), "--metrics"]
        self.command += ["--allow-host", "forage.example"]
        for root in roots:
            self.command += ["--root", root]
        self.peak_mb, self.counted_calls = 0, 0
        self.start()

    def start(self):
        log = open(self.directory / f"log{self.number}", "a")
        self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while self.get("/readyz") is None:
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit(f"a replica did not start: {(self.directory / f'log{self.number}').read_text()}")
            time.sleep(0.05)

    def get(self, path, token=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def sample(self):
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return
        found = re.search(r"VmRSS:\s+(\d+)", status)
        if found:
            self.peak_mb = max(self.peak_mb, int(found[1]) // 1024)

    def meter(self, token):
        """Adds the number of calls that this process has counted."""
        text = self.get("/metrics", token)
        if text is None:
            raise SystemExit("a replica has no metrics")
        self.counted_calls += sum(int(number) for number in re.findall(r"^forage_calls_total\{[^}]*\} (\d+)", text, re.MULTILINE))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(timeout=60) != 0:
            raise SystemExit(f"a replica exited with {self.process.returncode}")


def bodies(roots, words):
    calls = {tool: list(arguments) for tool, arguments in CALLERS.items()}
    files = [path for path in sorted(Path(roots[0]).rglob("*.*")) if path.is_file() and ".git" not in path.parts and path.stat().st_size < 50_000]
    calls["read_file"] = [{"path": str(path.relative_to(roots[0]))} for path in files[:: max(1, len(files) // 20)][:20]]
    if words:
        calls["keyword_lookup"] = [{"query": word} for word in words]
    result = []
    # Each tool gets the same number of calls, regardless of the number of its arguments.
    for number in range(max(len(arguments) for arguments in calls.values())):
        for tool, arguments in calls.items():
            params = {"name": tool, "arguments": arguments[number % len(arguments)]}
            result.append(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forage")
    parser.add_argument("roots", nargs="+")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--callers", type=int, default=200)
    parser.add_argument("--qdrant")
    parser.add_argument("--words")
    parser.add_argument("--restart", action="store_true")
    arguments = parser.parse_args()
    roots = [str(Path(root).resolve()) for root in arguments.roots]
    words = Path(arguments.words).read_text().split() if arguments.words else []
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        tokens = {name: secrets.token_hex(32) for name in ["alice", "bob", "ci", "metrics"]}
        entries = [
            f'[[tokens]]\nname = "{name}"\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\nmetrics = {str(name == "metrics").lower()}\n'
            for name, token in tokens.items()
        ]
        (directory / "tokens.toml").write_text("".join(entries))
        replicas = [Replica(arguments.forage, directory, roots, arguments.qdrant, number) for number in range(2)]
        port = free_port()
        servers = " ".join(f"server 127.0.0.1:{replica.port} max_fails=0;" for replica in replicas)
        (directory / "nginx.conf").write_text(NGINX.format(directory=directory, servers=servers, port=port))
        nginx = subprocess.Popen(["nginx", "-c", str(directory / "nginx.conf"), "-e", str(directory / "nginx.log")])
        (directory / "bodies").write_text("\n".join(bodies(roots, words)) + "\n")
        (directory / "load.lua").write_text(LUA)
        time.sleep(1)
        environment = {**os.environ, "BODIES": str(directory / "bodies"), "TOKENS": " ".join(tokens[name] for name in ["alice", "bob", "ci"])}
        command = ["wrk", "-t1", f"-c{arguments.callers}", f"-d{int(arguments.minutes * 60)}s", "--timeout", "60s"]
        load = subprocess.Popen([*command, "-s", str(directory / "load.lua"), f"http://127.0.0.1:{port}"], env=environment, stdout=subprocess.PIPE, text=True)
        sampling = threading.Event()

        def sample():
            while not sampling.wait(0.5):
                for replica in replicas:
                    replica.sample()

        sampler = threading.Thread(target=sample)
        sampler.start()
        if arguments.restart:
            for replica in replicas:
                time.sleep(arguments.minutes * 60 / 3)
                replica.meter(tokens["metrics"])
                replica.end()
                replica.start()
        output = load.communicate()[0]
        time.sleep(1)
        sampling.set()
        sampler.join()
        output = output[output.index("\nrequests ") + 1 :]
        print(output)
        report = {name: float(number) for name, number in re.findall(r"^(\w+) ([\d.]+)$", output, re.MULTILINE)}
        for replica in replicas:
            replica.meter(tokens["metrics"])
            print(f"replica {replica.number}: {replica.peak_mb} MB at most, {replica.counted_calls} calls counted")
        recorded = sum(len((directory / f"calls{number}.jsonl").read_text().splitlines()) for number in range(2))
        counted = sum(replica.counted_calls for replica in replicas)
        print(f"on record: {recorded} calls")
        for replica in replicas:
            replica.end()
        nginx.terminate()
        nginx.wait()
        failed = report["errors"] + report["status"] + report["socket"]
        # The audit log also contains calls that were in progress when `wrk` ended. A restart loses the counts after the last reading.
        is_counted = recorded >= report["requests"] and (arguments.restart or counted == recorded)
        if failed or not is_counted:
            raise SystemExit(f"{failed:.0f} calls failed; {report['requests']:.0f} were made, {recorded} are on record, {counted} were counted")


main()
