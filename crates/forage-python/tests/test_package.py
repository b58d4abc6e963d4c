"""Tests the package as a program would use it. `FORAGE` names the command line program whose answers must be equal."""

import asyncio
import doctest
import importlib
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import forage
import pytest

# Matches nothing, and is slow on each line.
SLOW = {"pattern": "(a?){3000}a{3000}[bc]?[de]", "timeout_ms": 30000}

CALLS = [
    ("grep", "grep_search", {"pattern": "retry"}),
    ("grep", "grep_search", {"pattern": "again", "output": "uses"}),
    ("search", "Search", {"pattern": "def", "max_results": 2}),
    ("list", "list_directory", {"path": "src"}),
    ("read", "read_file", {"path": "src/main.py", "start_line": 2}),
    ("rank", "search_index", {"query": "where is it tried again"}),
]


def without_elapsed_time(records):
    """Removes the elapsed time, which differs between calls."""
    if isinstance(records, dict):
        return {key: without_elapsed_time(value) for key, value in records.items() if key != "elapsed_ms"}
    if isinstance(records, list):
        return [without_elapsed_time(value) for value in records]
    return records


@pytest.mark.parametrize("method, tool, arguments", CALLS)
def test_answer_equals_command_line(tree, command, method, tool, arguments):
    with forage.Workspace(tree, index=False) as workspace:
        typed, untyped = getattr(workspace, method)(**arguments), workspace.call(tool, arguments)
        from_json = workspace.call(tool, json.dumps(arguments))

    async def awaited():
        async with forage.AsyncWorkspace(tree, index=False) as workspace:
            return await getattr(workspace, method)(**arguments)

    printed = json.loads(command("call", tool, json.dumps(arguments), "--json", cwd=tree))
    for answer in (typed, untyped, from_json, asyncio.run(awaited())):
        assert without_elapsed_time(answer.to_dict()) == without_elapsed_time(printed)
    # The text of a method's answer names methods, not tools, so we can't compare it.
    for answer in (untyped, from_json):
        assert answer.text.rstrip("\n") == command("call", tool, json.dumps(arguments), cwd=tree).rstrip("\n")


def test_fields_have_declared_types(tree):
    workspace = forage.Workspace(tree, index=False)
    answer = workspace.grep("def ", file_pattern="*.py")
    assert isinstance(answer, forage.GrepAnswer) and answer.found and answer.match_count == 2
    assert [file.path for file in answer.files] == ["src/main.py", "src/retry.py"]
    assert isinstance(answer.files[0], forage.GrepFile) and answer.files[0].lines[0].line_number == 2
    assert answer.next_cursor is None and answer.definitions is None
    assert "GrepFile(" in repr(answer.files[0]) and answer.files[0] == answer.files[0]
    with pytest.raises(AttributeError, match="nonsense"):
        answer.nonsense
    called = workspace.call("grep_search", {"pattern": "def "})
    assert isinstance(called, forage.GrepAnswer) and called.match_count == 2
    read = workspace.read("src/main.py", start_line=4)
    assert isinstance(read, forage.ReadAnswer) and "def main" in str(read)


def test_answer_behaves_like_a_collection(tree):
    workspace = forage.Workspace(tree, index=False)
    answer = workspace.grep("def ")
    assert answer and len(answer) == 2 and list(answer) == answer.files
    no_match = workspace.grep("nothing has this")
    assert not no_match and len(no_match) == 0 and list(no_match) == []
    # An empty file was found even though it has no lines.
    (tree / "empty.txt").touch()
    empty = workspace.read("empty.txt")
    assert len(empty) == 0 and bool(empty) == empty.found
    assert [entry.path for entry in workspace.list("src")] == ["src/main.py", "src/retry.py"]
    assert next(iter(workspace.search("agian", fuzzy=2))).type == "match"


def test_method_parameters(tree):
    workspace = forage.Workspace(tree, index=False)
    found = workspace.search("def", file_pattern=["*.py", "!main.py"], context_lines=1)
    assert found.match_count == 1 and found.count > 1 and found.warnings == []
    assert len(workspace.rank("again", max_results=1).files) == 1
    with pytest.raises(forage.ArgumentError, match="`file_pattern`"):
        workspace.search("x", file_pattern="a[")
    # The answer of a method suggests method calls, and the answer of a tool call suggests tool calls.
    (tree / "long.txt").write_text("line\n" * 100_000)
    assert 'read(path="long.txt", start_line=' in workspace.read("long.txt").text
    assert 'read_file(path="long.txt", start_line=' in workspace.call("read_file", {"path": "long.txt"}).text


def test_star_import_shadows_no_builtin():
    import builtins

    names = {}
    exec("from forage import *", names)
    assert "SearchIndexError" in names and "GrepAnswer" in names
    assert [name for name in names if hasattr(builtins, name) and not name.startswith("__")] == []
    assert [name for name in forage.__all__ if hasattr(builtins, name)] == []


def documented_parameters(function):
    """Returns the names in the `Args:` section of a docstring. Checks that each has a description."""
    arguments = function.__doc__.split("Args:\n")[1].split("\n\n")[0] if "Args:" in function.__doc__ else ""
    lines = textwrap.dedent(arguments).splitlines()
    entries = [line.partition(": ") for line in lines if not line.startswith(" ")]
    assert all(len(description) > 10 for _, _, description in entries), entries
    return [name for name, _, _ in entries]


@pytest.mark.parametrize("kind", [forage.Workspace, forage.AsyncWorkspace])
def test_help_documents_every_method_and_parameter(kind):
    import pydoc

    checked = 0
    for name, function in inspect.getmembers(kind, inspect.isfunction):
        if name.startswith("_") and name != "__init__":
            continue
        parameters = [parameter for parameter in inspect.signature(function).parameters if parameter != "self"]
        first, _, rest = function.__doc__.partition("\n")
        assert first.endswith((".", "!")) and len(first) < 140, (name, first)
        assert sorted(documented_parameters(function)) == sorted(parameters), name
        # Lists and tool names come from the descriptions for models, and must not be in a docstring.
        assert "\n- " not in rest and ("grep_search" not in rest or name in ("call", "tools")), name
        checked += len(parameters)
    assert checked > 80, checked
    rendered = pydoc.plain(pydoc.render_doc(forage.Workspace.grep))
    assert "Finds the lines that match" in rendered and ">>> answer = workspace.grep(" in rendered


def test_multiple_directories(tree):
    workspace = forage.Workspace(tree / "src", tree / "notes", index=False)
    answer = workspace.grep("needle 7$|def main")
    assert answer.match_count == 1 and answer.other_roots[0].match_count == 1
    assert isinstance(answer.other_roots[0].files[0], forage.GrepFile)
    assert len(workspace.roots) == 2


def test_error_classes_and_hints(tree):
    workspace = forage.Workspace(tree, index=False)
    cases = [
        (lambda: workspace.grep("(?P<unclosed"), forage.PatternError),
        (lambda: workspace.read("src/mian.py"), forage.PathError),
        (lambda: workspace.call("no_such_tool"), forage.UnknownToolError),
        (lambda: workspace.grep("x", file_pattern="a["), forage.ArgumentError),
        (lambda: workspace.grep(), forage.RequestError),
        (lambda: workspace.keyword_search("retries", ["retry"]), forage.NoModelError),
        (lambda: workspace.ask("where is it?"), forage.NoModelError),
        (lambda: workspace.tools("nonsense"), forage.ArgumentError),
        (lambda: forage.Workspace(tree / "nowhere"), forage.PathError),
        (lambda: forage.Workspace(tree, models=[{"model": "x"}]), forage.NoModelError),
    ]
    for call, kind in cases:
        with pytest.raises(kind) as raised:
            call()
        assert isinstance(raised.value, forage.ForageError) and raised.value.message, raised.value
    with pytest.raises(forage.PathError, match="main.py"):
        workspace.read("src/mian.py")
    with pytest.raises(TypeError, match="given twice"):
        workspace.grep("x", pattern="y")
    for text in ('{"pattern": ', "[1]", '{"pattern": NaN}'):
        with pytest.raises(forage.RequestError):
            workspace.call("grep_search", text)
    with pytest.raises(TypeError, match="bytes"):
        workspace.grep(b"x")
    with pytest.raises(forage.RequestError, match="unknown field"):
        forage._forage.RawToolbox([str(tree)], '{"nonsense": 1}', None)
    for models in (["sk-secret"], [{"model": "x", "api_key": 1234567}]):
        with pytest.raises(forage.RequestError) as raised:
            forage.Workspace(tree, models=models)
        assert "secret" not in str(raised.value) and "1234567" not in str(raised.value)
    with pytest.raises(forage.NoModelError) as raised:
        workspace.keyword_search("retries", ["retry"])
    assert raised.value.hint and raised.value.hint in str(raised.value) and raised.value.code == "no_model"


def test_stream_returns_all_results(tree):
    workspace = forage.Workspace(tree, index=False)
    with workspace.grep_each("needle") as each:
        pieces = list(each)
    assert sum(piece.match_count for piece in pieces) == 5000 == each.answer.match_count
    assert all(isinstance(piece, forage.GrepFile) for piece in pieces)
    records = [record for record in workspace.search_each("def ")]
    assert [record.type for record in records].count("match") == 2
    with pytest.raises(forage.ArgumentError):
        list(workspace.grep_each("needle", max_results=3))

    async def awaited():
        workspace = forage.AsyncWorkspace(tree, index=False)
        return [piece.match_count async for piece in workspace.grep_each("needle")]

    assert sum(asyncio.run(awaited())) == 5000


def test_stream_rejects_paging_arguments(tree):
    workspace = forage.Workspace(tree, index=False)
    for arguments in [{"max_results": 3}, {"cursor": "x"}, {"fuzzy": 1, "best_first": True}]:
        with pytest.raises(forage.ArgumentError):
            list(workspace.search_each("needle", **arguments))


def test_leaving_a_stream_ends_its_search(large_tree):
    workspace = forage.Workspace(large_tree, index=False)
    for piece in workspace.grep_each("a"):
        assert piece.match_count
        break
    wait_until_idle()
    each = workspace.grep_each("a")
    next(each)
    each.close()
    wait_until_idle()
    with pytest.raises(forage.CancelledError):
        next(each)


def test_slow_reader_gets_all_results(tree):
    workspace = forage.Workspace(tree, index=False)
    lines = 0
    for piece in workspace.grep_each("needle"):
        lines += piece.match_count
        time.sleep(0.01)
    assert lines == 5000


def test_stream_reports_timeout(large_tree):
    workspace = forage.Workspace(large_tree, index=False, timeout_ms=300)
    with pytest.raises(forage.UnfinishedError):
        for _ in workspace.grep_each("a"):
            time.sleep(0.02)


def test_threads_share_a_stream(tree):
    for file in range(2000):
        (tree / "notes" / f"{file}.txt").write_text("pin\n")
    each = forage.Workspace(tree, index=False).grep_each("pin")
    counts = []

    def read():
        counts.append(sum(piece.match_count for piece in each))

    threads = [threading.Thread(target=read) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sum(counts) == 2000, counts


def test_cancelled_call_ends_its_work(large_tree):
    async def cancelled():
        workspace = forage.AsyncWorkspace(large_tree, index=False, timeout_ms=60000)
        call = asyncio.ensure_future(workspace.search(**SLOW))
        await asyncio.sleep(0.2)
        ticks = 0
        for _ in range(10):
            await asyncio.sleep(0.01)
            ticks += 1
        was_done = call.done()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return ticks, was_done

    ticks, was_done = asyncio.run(cancelled())
    assert ticks == 10 and not was_done
    wait_until_idle()


def wait_until_idle():
    """Waits until this process uses no processor time."""
    deadline = time.monotonic() + 5
    while busy() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not busy()


def busy():
    """Returns whether this process uses processor time."""
    before = time.process_time()
    time.sleep(0.2)
    return time.process_time() - before > 0.1


def test_other_threads_run_during_a_call(large_tree):
    workspace = forage.Workspace(large_tree, index=False)
    ticks = []
    finished = threading.Event()

    def tick():
        while not finished.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    with pytest.raises(forage.UnfinishedError):
        workspace.search(SLOW["pattern"], timeout_ms=1000)
    elapsed = time.monotonic() - start
    finished.set()
    thread.join()
    assert elapsed > 0.3
    pauses = [later - earlier for earlier, later in zip(ticks, ticks[1:])]
    assert max(pauses) < elapsed / 2, (max(pauses), elapsed)


def test_ctrl_c_interrupts_a_call(large_tree):
    program = textwrap.dedent(
        f"""
        import forage, signal, time
        # A shell makes its background processes ignore SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        workspace = forage.Workspace({str(large_tree)!r}, index=False, timeout_ms=60000)
        print("begun", flush=True)
        began = time.monotonic()
        try:
            workspace.search(**{SLOW!r})
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - began, flush=True)
        print(workspace.grep("0$", max_results=1).match_count > 0)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    output = child.communicate(timeout=30)[0].splitlines()
    assert output[0].startswith("interrupted") and float(output[0].split()[1]) < 5 and output[1] == "True", output


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_fork_requires_new_workspace(tree):
    workspace = forage.Workspace(tree, index=False)
    workspace.grep("retry")
    each = workspace.grep_each("needle")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            workspace.grep("retry")
            output = "answered"
        except forage.ForageError as error:
            output = str(error)
        try:
            next(each)
        except forage.ForageError as error:
            output += "|" + str(error)
        output += "|" + str(forage.Workspace(tree, index=False).grep("retry").match_count)
        os.write(write, output.encode())
        os._exit(0)
    os.close(write)
    output = os.read(read, 1000).decode()
    os.waitpid(child, 0)
    assert output.count("open the workspace again in this process") == 2 and output.endswith("|2"), output
    assert sum(piece.match_count for piece in each) == 5000
    assert workspace.grep("retry").match_count == 2


def test_concurrent_calls_of_threads(tree):
    workspace = forage.Workspace(tree, index=False)
    answers = []

    def call():
        for _ in range(20):
            answers.append(workspace.grep("retry").match_count)

    threads = [threading.Thread(target=call) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert answers == [2] * 160


def test_memory_is_constant_over_ten_thousand_calls(tree):
    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    workspace = forage.Workspace(tree, index=False)
    for _ in range(1000):
        workspace.read("src/main.py").to_dict()
    before = resident()
    for _ in range(10000):
        workspace.read("src/main.py").to_dict()
    assert resident() - before < 4 << 20, (before, resident())


def test_program_exits_while_calls_run(large_tree):
    program = textwrap.dedent(
        f"""
        import forage, json, random, time
        workspace = forage.AsyncWorkspace({str(large_tree)!r}, index=False)
        for n in range(30):
            given = json.dumps({{"pattern": "a{{40}}[b]", "timeout_ms": 40 + n}})
            workspace._raw.start("Search", given, forage._forage.Stop(), lambda answer, error: time.sleep(0.001))
        time.sleep(random.random() / 10)

        class Slow:
            def __del__(self):
                time.sleep(0.0005)

        # These objects slow down the shutdown of the interpreter.
        kept = [Slow() for _ in range(600)]
        """
    )
    for _ in range(20):
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert (result.returncode, result.stderr) == (0, "")


def test_program_exits_while_callback_blocks(tree):
    program = textwrap.dedent(
        f"""
        import atexit, sys, threading
        called = threading.Event()

        def late():
            try:
                begin(lambda answer, error: None)
            except RuntimeError as error:
                print("late:", error)

        # Handlers run in reverse order, so this one runs after the package has stopped calling callbacks.
        atexit.register(late)
        import forage
        workspace = forage.AsyncWorkspace({str(tree)!r}, index=False)

        def begin(done):
            workspace._raw.start("read_file", '{{"path": "src/main.py"}}', forage._forage.Stop(), done)

        def block(answer, error):
            called.set()
            threading.Event().wait(60)

        begin(block)
        called.wait()
        if len(sys.argv) > 1:
            import os
            child = os.fork()
            if child:
                print("child:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if hasattr(os, "waitstatus_to_exitcode") else 0, flush=True)
                os._exit(0)
            again = forage.Workspace({str(tree)!r}, index=False)
            print("again:", again.grep("retry").match_count, flush=True)
        """
    )
    late = "late: the interpreter is shutting down, so this call can't be awaited"
    for arguments, output in [([], late), (["fork"], f"again: 2\n{late}\nchild: 0")]:
        if arguments and not hasattr(os, "fork"):
            continue
        command = [sys.executable, "-W", "ignore", "-c", program, *arguments]
        start = time.monotonic()
        result = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert (result.returncode, result.stdout.strip()) == (0, output), result
        assert time.monotonic() - start < 10


def test_ctrl_c_interrupts_a_queued_call(large_tree):
    program = textwrap.dedent(
        f"""
        import forage, json, signal, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        workspace = forage.AsyncWorkspace({str(large_tree)!r}, index=False, timeout_ms=60000)
        given, stop = json.dumps({SLOW!r}), forage._forage.Stop()
        for _ in range(64):
            workspace._raw.start("Search", given, stop, lambda answer, error: None)
        print("begun", flush=True)
        began = time.monotonic()
        try:
            workspace._raw.call("read_file", '{{"path": "none"}}', forage._forage.Stop(), True)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - began, flush=True)
        stop.cancel()
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    output = child.communicate(timeout=40)[0]
    assert output.startswith("interrupted") and float(output.split()[1]) < 10, output


def test_pending_streams_do_not_block_calls(large_tree):
    async def directory():
        workspace = forage.AsyncWorkspace(large_tree, index=False)
        # The stream has no result until the last file has been searched.
        streams = [workspace.search_each(SLOW["pattern"]) for _ in range(70)]
        reads = [asyncio.ensure_future(stream.__anext__()) for stream in streams]
        await asyncio.sleep(0.1)
        answer = await asyncio.wait_for(workspace.list(), 20)
        pending = sum(not read.done() for read in reads)
        [stream.close() for stream in streams]
        await asyncio.gather(*reads, return_exceptions=True)
        return answer.found, pending

    assert asyncio.run(directory()) == (True, 70)


def test_telemetry_reports_each_call(tree):
    events = []
    workspace = forage.Workspace(tree, index=False, on_telemetry=events.append)
    workspace.grep("retry")
    list(workspace.grep_each("retry"))
    with pytest.raises(forage.PathError):
        workspace.read("nowhere")

    async def awaited():
        await forage.AsyncWorkspace(tree, index=False, on_telemetry=events.append).list()

    asyncio.run(awaited())
    calls = [(event["tool"], event["status"], event["surface"]) for event in events]
    assert calls == [
        ("grep_search", "found", "python"),
        ("grep_search", "found", "python"),
        ("read_file", "error", "python"),
        ("list_directory", "found", "python"),
    ]
    assert "retry" not in json.dumps(events) and all(event["latency_ms"] >= 0 for event in events)


def test_failing_telemetry_callback_does_not_affect_the_call(tree, monkeypatch):
    exceptions = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: exceptions.append(unraisable.exc_type))
    workspace = forage.Workspace(tree, index=False, on_telemetry=lambda event: event["nothing"])
    assert workspace.grep("retry").match_count == 2 and exceptions == [KeyError]


def test_closed_workspace_refuses_calls(tree):
    workspace = forage.Workspace(tree, index=False)
    workspace.close()
    workspace.close()
    with pytest.raises(forage.ForageError, match="closed"):
        workspace.grep("x")


def test_index_in_given_directory(tree, tmp_path):
    with forage.Workspace(tree, index=tmp_path / "indexes", watch=True) as workspace:
        workspace.build_index()
        assert workspace.grep("needle 4999").match_count == 1
    assert any((tmp_path / "indexes").rglob("*"))


def test_unfinished_index_is_saved_at_exit(tmp_path):
    directory = tmp_path / "many"
    directory.mkdir()
    for n in range(6000):
        (directory / f"{n}.txt").write_text(f"needle {n}\n" * 20)
    # An object that an exit handler holds is never collected. A local variable is collected before the exit.
    ends = {
        "global": "workspace = search()",
        "held": "import atexit; workspace = search(); atexit.register(lambda: workspace)",
        "local": "search(); workspace = None",
    }
    for name, end in ends.items():
        program = textwrap.dedent(
            f"""
            import forage

            def search():
                workspace = forage.Workspace({str(directory)!r}, index={str(tmp_path / name)!r}, watch=True)
                workspace.grep("needle 7$")
                return workspace

            """
        )
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", program + end], check=True)
        # The exit waits for 1.5 s at most, which is not enough on a busy machine.
        if time.monotonic() - began < 1.5:
            assert len(list((tmp_path / name).rglob("base"))) == 1, name


def test_tool_definitions_for_each_provider(tree):
    workspace = forage.Workspace(tree, index=False)
    for format in ("openai", "openai-strict", "anthropic", "gemini", "mcp"):
        names = [tool.get("name") or tool["function"]["name"] for tool in workspace.tools(format)]
        assert "grep_search" in names and "read_file" in names, names
        # A tool that is off by default can be named.
        only = workspace.tools(format, only=["read_file", "Search"])
        assert [tool.get("name") or tool["function"]["name"] for tool in only] == ["read_file", "Search"]
    with pytest.raises(forage.ArgumentError, match="readfile"):
        workspace.tools(only=["readfile"])


def test_method_signatures(tree):
    signature = inspect.signature(forage.Workspace.grep)
    assert list(signature.parameters)[:2] == ["self", "pattern"]
    assert signature.return_annotation is forage.GrepAnswer
    stream_excludes = set(signature.parameters) - set(inspect.signature(forage.Workspace.grep_each).parameters)
    assert stream_excludes == {"output", "max_results", "cursor"}


def test_subinterpreter_cannot_import_the_package(tree):
    interpreters = pytest.importorskip("_xxsubinterpreters")
    subinterpreter = interpreters.create()
    check = """
try:
    import forage
    raise SystemError("it was imported")
except ImportError as error:
    # Since 3.12, Python itself refuses the import.
    assert any(why in str(error) for why in ("another interpreter", "does not support loading in subinterpreters")), error
"""
    interpreters.run_string(subinterpreter, check)
    assert forage.Workspace(tree, index=False).grep("retry").match_count == 2
    with pytest.raises(forage.PathError):
        forage.Workspace(tree, index=False).read("nowhere")


@pytest.fixture
def model(tmp_path):
    """Starts the scripted model of the command line's tests. Its responses are the given turns."""
    children = []

    def start(turns):
        command = [sys.executable, os.environ["MODEL_SCRIPT"], json.dumps(turns), str(tmp_path / "model.log")]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        children.append(child)
        return child.stdout.readline().split()[-1] + "/v1"

    yield start
    for child in children:
        child.kill()
        child.wait()


READS_MAIN = [{"calls": [{"tool": "read_file", "arguments": {"path": "src/main.py"}}]}, {"text": "In `src/main.py:5`."}]


def test_question_is_answered(tree, model):
    models = [{"provider": "scripted", "model": "scripted", "base_url": model(READS_MAIN)}]
    events = []
    workspace = forage.Workspace(tree, index=False, models=models)
    answer = workspace.ask("Where is it retried?", watch=events.append)
    assert answer.answer == "In `src/main.py:5`." and answer.answer in answer.text
    assert answer.to_dict()["turns"][0]["calls"][0]["tool"] == "read_file"
    assert {"asking", "call_started", "call_ended"} <= {event["type"] for event in events}

    async def awaited():
        watched = []
        workspace = forage.AsyncWorkspace(tree, index=False, models=models)
        answer = await workspace.ask("Where is it retried?", watch=watched.append)
        await asyncio.sleep(0)
        return answer.answer, [event["type"] for event in watched]

    answer, watched = asyncio.run(awaited())
    assert answer == "In `src/main.py:5`." and "call_ended" in watched


def test_unanswered_question_has_a_transcript(tree):
    models = [{"provider": "nobody", "model": "x", "base_url": "http://127.0.0.1:9/v1"}]
    with pytest.raises(forage.ModelsFailedError) as raised:
        forage.Workspace(tree, index=False, models=models).ask("Where?")
    assert raised.value.transcript["question"] == "Where?"


def run_example(name, *arguments, **variables):
    path = os.path.join(os.path.dirname(__file__), "../examples", name)
    result = subprocess.run([sys.executable, path, *arguments], env={**os.environ, **variables}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_examples_run(tree, model):
    output = run_example("search.py", str(tree))
    assert "src/main.py" in output and "path None" in output
    output = run_example("agent.py", str(tree), "Where is it retried?", BASE_URL=model(READS_MAIN), MODEL="scripted")
    assert output == "In `src/main.py:5`.\n"


def test_documentation_page_examples_run(tree, monkeypatch, capsys):
    page = (Path(__file__).parents[3] / "docs/python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    # test_collections.py runs the examples with frameworks.
    blocks = [block for block in blocks if "integrations" not in block]
    (tree / "path/to").mkdir(parents=True)
    (tree / "src").rename(tree / "path/to/repository")
    monkeypatch.chdir(tree)
    exec("".join(blocks), {})
    output = capsys.readouterr().out
    assert len(blocks) == 2 and "main.py [2, 3, 4, 5]" in output, output


def test_docstring_examples_run(tree, monkeypatch):
    pytest.importorskip("langchain_core")
    pytest.importorskip("llama_index")
    monkeypatch.chdir(tree)
    modules = ["forage", "forage._workspace", "forage.sparse", "forage.integrations.langchain"]
    globals_ = {"forage": forage, "workspace": forage.Workspace(".", index=False)}
    for name in [*modules, "forage.integrations.llama_index"]:
        module = importlib.import_module(name)
        exceptions, tried = doctest.testmod(module, extraglobs=globals_ if name == "forage._workspace" else None)
        # Each method has an example, and each other module has at least one.
        minimum = 20 if name == "forage._workspace" else 1
        assert exceptions == 0 and tried >= minimum, (module, exceptions, tried)


def test_typed_program_runs(tree):
    typed = os.path.join(os.path.dirname(__file__), "typed.py")
    result = subprocess.run([sys.executable, typed, str(tree)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_missing_program_is_reported():
    """The wheel of these tests contains no program. `cargo xtask package --check` starts the program of a release."""
    result = subprocess.run([sys.executable, "-m", "forage", "--version"], capture_output=True, text=True)
    assert result.returncode == 1 and result.stderr.startswith("forage: error: this package was installed without"), result
