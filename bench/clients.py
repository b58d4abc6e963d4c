#!/usr/bin/env python3
"""Measures how real clients use the server, from the view of their models: the tokens of its definitions and instructions, the
time from its start to its first answers, and the maximum length of an answer. `cargo xtask peers --all` installs the clients. The
model is a script (crates/forage/tests/clients/model.py), so you need neither a key nor a network.

- Tokens: we count the definitions of Forage's tools in the first request to the model, as the client writes them, and the part of
  the instructions that the client forwards. If a client defers tools, the first request has no definitions of them.
- Times: a proxy (between.py) between the client and Forage measures them. The first is from the start of Forage's process to the
  answer with the list of tools. The others are from call to answer, for the first grep_search and the first search_index. Cold
  means an empty cache directory. Warm means with the index that `forage rank` created. Files are in the page cache in both cases.
- Longest answer: a binary search with a server whose only tool returns a text of the requested length. An answer is complete if
  the request with the result contains the whole text.

Python 3.9 or newer, no packages. The tokenizer is any command that reads a JSON list of texts and prints a JSON list of
counts (README.md has one for o200k).
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from between import long_answer

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent / "crates/forage/tests/clients/model.py"
BETWEEN = str(HERE / "between.py")
QUESTION = "Where are failed requests retried?"
# Range of the binary search for the longest complete answer, and its precision, in characters.
SHORTEST, LONGEST, PRECISION = 2_000, 128_000, 250
# Maximum seconds for a conversation. The slowest client takes 15 on a busy machine with two processors.
TIMEOUT = 120


def claude(home, url, server):
    entry = {"mcpServers": {"forage": {"type": "stdio", **server}}}
    files = {".claude.json": json.dumps(entry)}
    environment = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    return files, environment, ["claude", "-p", QUESTION, "--allowedTools", "mcp__forage"]


def codex(model):
    def recipe(home, url, server):
        arguments = ", ".join(json.dumps(argument) for argument in server["args"])
        settings = (
            f'model = "{model}"\nmodel_provider = "tests"\n\n[model_providers.tests]\nname = "tests"\n'
            f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "NO_KEY"\n\n'
            f'[mcp_servers.forage]\ncommand = "{server["command"]}"\nargs = [{arguments}]\n'
        )
        command = ["codex", "exec", "--skip-git-repo-check", QUESTION]
        return {".codex/config.toml": settings}, {"NO_KEY": "none"}, command

    return recipe


def gemini(home, url, server):
    auth = {"auth": {"selectedType": "gemini-api-key"}}
    settings = {"mcpServers": {"forage": server}, "security": auth}
    environment = {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none"}
    command = ["gemini", "--skip-trust", "--approval-mode", "yolo", "-m", "gemini-2.5-pro", "-p", QUESTION]
    return {".gemini/settings.json": json.dumps(settings)}, environment, command


def qwen(home, url, server):
    environment = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}
    files = {".qwen/settings.json": json.dumps({"mcpServers": {"forage": server}})}
    return files, environment, ["qwen", "--approval-mode", "yolo", "-p", QUESTION]


def opencode(home, url, server):
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    settings = {
        "mcp": {"forage": {"type": "local", "command": [server["command"], *server["args"]], "enabled": True}},
        "provider": {"tests": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": {}}}},
        "model": "tests/scripted",
    }
    return {".config/opencode/opencode.json": json.dumps(settings)}, {}, ["opencode", "run", QUESTION]


def copilot(home, url, server):
    entry = {"mcpServers": {"forage": {"type": "local", **server, "tools": ["*"]}}}
    environment = {
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "scripted",
        "COPILOT_OFFLINE": "true",
    }
    files = {".copilot/mcp-config.json": json.dumps(entry)}
    return files, environment, ["copilot", "-p", QUESTION, "--allow-all-tools"]


def cline(home, url, server):
    files = {".cline/data/settings/cline_mcp_settings.json": json.dumps({"mcpServers": {"forage": server}})}
    sign_in = f"cline auth -p openai -k none -m scripted -b {url}/v1 >/dev/null"
    return files, {}, ["sh", "-c", f'{sign_in} && cline -P openai "{QUESTION}"']


def continue_cli(home, url, server):
    arguments = json.dumps(server["args"])
    settings = (
        "name: tests\nversion: 0.0.1\nschema: v1\nmodels:\n  - name: scripted\n    provider: openai\n    model: scripted\n"
        f"    apiBase: {url}/v1\n    apiKey: none\n    roles: [chat]\n    capabilities: [tool_use]\n"
        f"mcpServers:\n  - name: forage\n    command: {server['command']}\n    args: {arguments}\n"
    )
    return {".continue/config.yaml": settings}, {}, ["cn", "-p", QUESTION, "--auto"]


# Title, npm package, prefix of the names of Forage's tools (the client's own tools may have the same names), and the function
# that returns its configuration files, environment and command.
CLIENTS = {
    "claude-code": ("Claude Code", "@anthropic-ai/claude-code", "mcp__forage__", claude),
    "codex": ("Codex, a model it does not know", "@openai/codex", "mcp__forage", codex("scripted")),
    "codex-gpt": ("Codex, `gpt-5.5`", "@openai/codex", "mcp__forage", codex("gpt-5.5")),
    "gemini-cli": ("Gemini CLI", "@google/gemini-cli", "mcp_forage_", gemini),
    "qwen-code": ("Qwen Code", "@qwen-code/qwen-code", "mcp__forage__", qwen),
    "opencode": ("opencode", "opencode-ai", "forage_", opencode),
    "copilot": ("Copilot CLI", "@github/copilot", "forage-", copilot),
    "cline": ("Cline CLI", "cline", "forage__", cline),
    "continue": ("Continue `cn`", "@continuedev/cli", "", continue_cli),
}


class Machine:
    """The environment of clients: a home directory for each run, and a copy of a tree that they may change."""

    def __init__(self, clients, tree):
        self.modules = pathlib.Path(clients, "node_modules").resolve(strict=True)
        self._keep = tempfile.TemporaryDirectory()
        self.directory = pathlib.Path(self._keep.name).resolve()
        self.tree = self.directory / "tree"
        left_out = shutil.ignore_patterns("target", "node_modules")
        shutil.copytree(tree, self.tree, ignore=left_out, symlinks=True)
        # In a worktree, `.git` is a file that refers to another directory.
        if not (self.tree / ".git").is_dir():
            (self.tree / ".git").unlink(missing_ok=True)
            (self.tree / ".git").mkdir()
        self.number = 0

    def home(self):
        self.number += 1
        home = self.directory / f"home{self.number}"
        home.mkdir()
        return home

    def version(self, package):
        return json.loads((self.modules / package / "package.json").read_text())["version"]

    def run_conversation(self, recipe, home, server, turns):
        """Runs a conversation. Returns the requests to the model, and the messages between client and server."""
        log, traffic = home / "model.jsonl", home / "talk.jsonl"
        traffic.write_text("")
        model = subprocess.Popen(
            [sys.executable, str(MODEL), json.dumps(turns), str(log)], stdout=subprocess.PIPE, text=True
        )
        try:
            url = model.stdout.readline().split()[-1]
            entry = {"command": sys.executable, "args": [BETWEEN, str(traffic), *server]}
            files, environment, command = recipe(home, url, entry)
            for name, text in files.items():
                path = home / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            self.run(command, home, environment)
        finally:
            model.kill()
            model.wait()
        lines = lambda path: [json.loads(line) for line in path.read_text().splitlines()]
        return [request for request in lines(log) if request.get("turn") is not None], lines(traffic)

    def run(self, command, home, environment):
        programs = f"{self.modules / '.bin'}:{self.modules / 'node/bin'}:/usr/local/bin:/usr/bin:/bin"
        environment = {
            "HOME": str(home),
            "PATH": programs,
            "TERM": "dumb",
            **environment,
        }
        process = subprocess.Popen(
            command,
            cwd=self.tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()


def strings(value):
    """Yields all strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def definitions(body, prefix, names):
    """Returns the definitions of Forage's tools in a request, as the client writes them. Their names start with the prefix, or
    they are in a namespace with this name."""
    found = []

    def look(value, is_within):
        if isinstance(value, list):
            for part in value:
                look(part, is_within)
        elif isinstance(value, dict):
            name = value.get("name")
            is_namespace = isinstance(value.get("tools"), list) and name == prefix
            if not is_namespace and name in (names if is_within else [prefix + own for own in names]):
                return found.append(value)
            for part in value.values():
                look(part, is_within or is_namespace)

    look(body.get("tools", []), False)
    return found


def instructions_in(body, instructions):
    """Returns the longest beginning of the instructions that is in a request, and the length of the instructions."""
    flat = lambda text: " ".join(text.split())
    texts, full = flat("\n".join(strings(body))), flat(instructions)
    low, high = 0, len(full)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if full[:middle] in texts else (low, middle - 1)
    # Any request can contain a few words of them.
    return full[: low if low > 40 else 0], len(full)


def exchange_times(traffic, method, tool=None):
    """Returns the times in seconds of the first request with this method (and tool), and of its answer."""
    for request in traffic:
        message = request["message"]
        if request["from"] != "client" or message.get("method") != method:
            continue
        if tool and not message["params"]["name"].endswith(tool):
            continue
        for reply in traffic:
            if reply["from"] == "server" and reply["message"].get("id") == message["id"] and "method" not in reply["message"]:
                # A server can request input first, for example roots. Then the client repeats the call.
                if reply["at"] >= request["at"] and reply["message"].get("result", {}).get("resultType") != "input_required":
                    return request["at"], reply["at"]
    return None


GREP = {"calls": [{"tool": "grep_search", "arguments": {"pattern": "retry_after"}}]}
RANK = {"calls": [{"tool": "search_index", "arguments": {"query": QUESTION}}]}
LAST = {"text": "That is all."}


def measure_client(machine, recipe, forage, runs):
    """Returns the first request, and times in milliseconds, cold and warm: list, grep_search, search_index."""
    times = {"cold": [], "warm": []}
    first = None
    for _ in range(runs):
        home = machine.home()
        for state in ("cold", "warm"):
            if state == "warm":
                machine.run([forage, "rank", QUESTION], home, {})
            requests, traffic = machine.run_conversation(recipe, home, [forage, "mcp"], [GREP, RANK, LAST])
            if not requests:
                return None
            first = first or (requests[0]["body"], traffic)
            row = []
            for method, tool in (("tools/list", None), ("tools/call", "grep_search"), ("tools/call", "search_index")):
                found = exchange_times(traffic, method, tool)
                begin = 0 if tool is None else found and found[0]
                row.append((found[1] - begin) * 1e3 if found else None)
            times[state].append(row)
    return first, times


def server_description(traffic):
    """Returns the names of the tools that Forage listed, and its instructions."""
    tools, instructions = [], ""
    for entry in traffic:
        result = entry["message"].get("result")
        if entry["from"] == "server" and isinstance(result, dict):
            instructions = result.get("instructions", instructions)
            tools = [tool["name"] for tool in result.get("tools", [])] or tools
    return tools, instructions


def longest(machine, recipe):
    """Returns the lengths of the longest answer that arrived completely, and of the shortest one that did not, in characters."""
    home = machine.home()

    def arrives(characters):
        turns = [{"calls": [{"tool": "long_answer", "arguments": {"characters": characters}}]}, {"text": "That is all."}]
        requests, _ = machine.run_conversation(recipe, home, ["--answers"], turns)
        text = long_answer(characters)
        results = [result for request in requests for result in request["results"]]
        if not results:
            return None
        # Some clients forward JSON that contains the text.
        return any(text.strip() in result or json.dumps(text.strip())[1:-1] in result for result in results)

    low, high = SHORTEST, LONGEST
    if not arrives(low):
        return None, low
    if arrives(high):
        return high, None
    while high - low > PRECISION:
        middle = (low + high) // 2
        low, high = (middle, high) if arrives(middle) else (low, middle)
        print(f"  {low} to {high}", file=sys.stderr)
    return low, high


class Tokens:
    def __init__(self, command):
        self.command = command

    def count(self, texts):
        output = subprocess.run(self.command, shell=True, input=json.dumps(texts).encode(), stdout=subprocess.PIPE, check=True)
        return json.loads(output.stdout)


def cell(values):
    values = [value for value in values if value is not None]
    return f"{statistics.median(values):.0f}" if values else "–"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forage", default="target/release/forage", type=os.path.abspath)
    parser.add_argument("--clients", default="target/peers/clients", help="directory in which `cargo xtask peers --all` installed them")
    parser.add_argument("--tree", required=True, help="directory to search; a copy is used")
    parser.add_argument("--tokenizer", required=True, help="command that reads a JSON list of texts and prints one of counts")
    parser.add_argument("--client", action="append", choices=CLIENTS, help="measure only this client; may be repeated")
    parser.add_argument("--runs", type=int, default=3, help="starts of each client, cold and then warm")
    parser.add_argument("--longest", action="store_true", help="also search for the longest complete answer, with ten starts of each client")
    options = parser.parse_args()
    tokens = Tokens(options.tokenizer)
    machine = Machine(options.clients, options.tree)
    clients = [row for name, row in CLIENTS.items() if not options.client or name in options.client]
    costs, starts, lengths = [], [], []
    for title, package, prefix, recipe in clients:
        print(title, file=sys.stderr)
        title = f"{title} {machine.version(package)}"
        found = measure_client(machine, recipe, options.forage, options.runs)
        if not found:
            print("  the client sent no request to the model", file=sys.stderr)
            continue
        (body, traffic), times = found
        names, instructions = server_description(traffic)
        shown = definitions(body, prefix, names)
        part, characters = instructions_in(body, instructions)
        counts = tokens.count([*(json.dumps(one, ensure_ascii=False) for one in shown), part])
        costs.append(f"| {title} | {len(shown)} of {len(names)} | {sum(counts[:-1])} | {len(part)} of {characters} | {counts[-1]} |")
        cells = [cell([row[column] for row in times[state]]) for column in range(3) for state in ("cold", "warm")]
        starts.append(f"| {title} | {' | '.join(cells)} |")
        if options.longest:
            longest_complete, shortest_incomplete = longest(machine, recipe)
            cells = [f"{value:,}" if value else "–" for value in (longest_complete, shortest_incomplete)]
            lengths.append(f"| {title} | {cells[0]} | {cells[1]} |")
    load = os.getloadavg()[0]
    print(f"Median of {options.runs} starts, each cold and then warm; load {load:.1f} at the end.\n")
    print("| client | definitions in the first request | tokens | characters of instructions in it | tokens |\n|---|---|---|---|---|")
    print("\n".join(costs))
    print("\n| client | list, cold ms | warm | grep_search, cold | warm | search_index, cold | warm |\n|---|---|---|---|---|---|---|")
    print("\n".join(starts))
    if lengths:
        print("\n| client | whole, characters | not whole |\n|---|---|---|")
        print("\n".join(lengths))


if __name__ == "__main__":
    main()
