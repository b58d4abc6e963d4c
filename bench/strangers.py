#!/usr/bin/env python3
"""Measures the effect of a thousand unauthenticated clients ("strangers") on an authenticated client of `forage mcp --http`.

Starts a server on 127.0.0.1, a process with the strangers, and two clients: one that connects for every call, and one that
keeps its connection. Prints the times of their calls, alone and among strangers, and the results of the strangers.

    python3 bench/strangers.py --forage target/release/forage --strangers 1000 --seconds 60

There are equal numbers of five kinds of strangers. Each reconnects as soon as it is disconnected:

    silent     connects and sends nothing
    slow       sends one byte of a request head per second
    renewing   requests an unknown path every two seconds to keep its connection
    half-open  sends half a request head, and does not close its side for 5 s after the server has closed
    flooding   sends calls with a wrong token as fast as possible
"""

import argparse
import asyncio
import collections
import http.client
import json
import multiprocessing
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time

TOKEN = "the-right-token"
KINDS = ("silent", "slow", "renewing", "half-open", "flooding")
MAX_STRANGERS, MAX_SECONDS = 4_000, 600
# Timeout of a call in seconds. A call that takes longer counts with this time and as lost.
TIMEOUT = 10.0

CALL = json.dumps({
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "read_file", "arguments": {"path": "README.md"}},
})
HEADERS = {
    "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25", "Authorization": f"Bearer {TOKEN}",
}


def call(connection):
    connection.request("POST", "/mcp", CALL, HEADERS)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200 or b"Example" not in text:
        raise OSError(f"{answer.status} {text[:200]}")


def client(port, keeps_connection, deadline, times, errors):
    connection = None
    while time.monotonic() < deadline:
        start = time.monotonic()
        try:
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
            call(connection)
            times.append(time.monotonic() - start)
        except (OSError, http.client.HTTPException) as error:
            times.append(TIMEOUT)
            errors[repr(error)[:120]] += 1
            connection = None
        if connection is not None and not keeps_connection:
            connection.close()
            connection = None
        time.sleep(0.01)


def clients(port, seconds):
    """Runs both clients. Returns the times of their calls and their errors."""
    deadline, threads, results = time.monotonic() + seconds, [], {}
    for name, keeps_connection in (("reconnects", False), ("keeps its connection", True)):
        results[name] = ([], collections.Counter())
        threads.append(threading.Thread(target=client, args=(port, keeps_connection, deadline, *results[name])))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def show(title, results):
    worst = 0.0
    for name, (times, errors) in results.items():
        times = sorted(times)
        percentile = lambda share: times[min(int(len(times) * share), len(times) - 1)] * 1e3
        worst = max(worst, percentile(0.99))
        print(f"{title:16} {name:22} {len(times):6} calls   p50 {percentile(0.5):7.2f} ms   p99 {percentile(0.99):7.2f} ms   "
              f"max {times[-1] * 1e3:8.2f} ms   lost {sum(errors.values())}")
        for error, count in errors.most_common(3):
            print(f"    {count} × {error}")
    return worst


async def stranger(kind, port, counts):
    """Opens connections of a kind one after the other."""
    loop = asyncio.get_running_loop()
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer wrong\r\n".encode()
    request = head + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    unknown_path = f"GET /x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    while True:
        connection = socket.socket()
        connection.setblocking(False)
        try:
            await loop.sock_connect(connection, ("127.0.0.1", port))
            counts[kind, "connections"] += 1
            if kind == "silent":
                await loop.sock_recv(connection, 1)
            elif kind == "slow":
                closed = asyncio.ensure_future(loop.sock_recv(connection, 1))
                for byte in head:
                    if closed.done():
                        break
                    await loop.sock_sendall(connection, bytes([byte]))
                    await asyncio.wait([closed], timeout=1)
                closed.cancel()
            elif kind == "renewing":
                while True:
                    await loop.sock_sendall(connection, unknown_path)
                    answer = await loop.sock_recv(connection, 4096)
                    if not answer:
                        break
                    counts[kind, answer[9:12].decode()] += 1
                    await asyncio.sleep(2)
            elif kind == "half-open":
                await loop.sock_sendall(connection, head)
                while await loop.sock_recv(connection, 4096):
                    pass
                await asyncio.sleep(5)
            else:
                while True:
                    await loop.sock_sendall(connection, request)
                    answer = await loop.sock_recv(connection, 4096)
                    if not answer:
                        break
                    counts[kind, answer[9:12].decode()] += 1
        except OSError as error:
            counts[kind, type(error).__name__] += 1
            await asyncio.sleep(0)
        finally:
            connection.close()


def strangers(port, number, seconds, sender):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    counts = collections.Counter()

    async def run():
        tasks = [asyncio.ensure_future(stranger(KINDS[n % len(KINDS)], port, counts)) for n in range(number)]
        await asyncio.wait(tasks, timeout=seconds)

    asyncio.new_event_loop().run_until_complete(run())
    sender.send(dict(counts))
    os._exit(0)


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forage", required=True)
    parser.add_argument("--strangers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--files", type=int, help="file descriptors of the server (ulimit -n)")
    parser.add_argument("--bar", type=float, default=50, help="milliseconds that p99 must stay below")
    arguments = parser.parse_args()
    number, seconds = min(arguments.strangers, MAX_STRANGERS), min(arguments.seconds, MAX_SECONDS)
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory, "project")
        root.mkdir()
        (root / "README.md").write_text("# Example\n")
        files = arguments.files
        server = subprocess.Popen(
            [arguments.forage, "mcp", "--http", "127.0.0.1:0", "--root", str(root)],
            env={"HOME": directory, "PATH": os.environ["PATH"], "FORAGE_MCP_TOKEN": TOKEN},
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None,
        )
        try:
            line = next(line for line in server.stderr if "listening on" in line)
            port = int(line.split("127.0.0.1:")[1].split("/")[0])
            threading.Thread(target=lambda: collections.deque(server.stderr, 0), daemon=True).start()
            show("alone", clients(port, min(seconds / 4, 5)))
            receiver, sender = multiprocessing.Pipe(False)
            attack = multiprocessing.Process(target=strangers, args=(port, number, seconds + 2, sender), daemon=True)
            attack.start()
            # Wait until all strangers are connected.
            time.sleep(1)
            before = processor_seconds(server)
            worst = show("among strangers", clients(port, seconds))
            processor_time = processor_seconds(server) - before
            counts = receiver.recv() if receiver.poll(20) else {}
            peak_kib = pathlib.Path(f"/proc/{server.pid}/status").read_text().split("VmHWM:")[1].split()[0]
        finally:
            server.kill()
            server.wait()
    print(f"{number} strangers for {seconds:.0f} s; the server used {processor_time:.1f} s of processor time, {int(peak_kib) / 1024:.0f} MiB")
    for kind in KINDS:
        summary = ", ".join(f"{event} {count}" for (counted_kind, event), count in sorted(counts.items()) if counted_kind == kind)
        print(f"    {kind:10} {summary}")
    if worst >= arguments.bar:
        sys.exit(f"p99 {worst:.1f} ms is not below {arguments.bar:.0f} ms")


if __name__ == "__main__":
    main()
