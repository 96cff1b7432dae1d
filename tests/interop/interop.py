#!/usr/bin/env python3
"""interop.py LINEWARD [TEXT…]: every client with every server, directly and on each road through Lineward, in one table.

TEXT: only the cells with one of these in "client server road". A cell is as direct (=), better (+), or worse (!): a worse one that
known.py does not explain fails the run, and so does one that it explains and that is no worse. What each peer printed is in
results/. Runs inside the Debian that interop.sh makes; the ports are its own network's.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from known import KNOWN

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
LINEWARD, ONLY = sys.argv[1], sys.argv[2:]
RESULTS = Path(os.environ.get("RESULTS", "/root/interop/results"))
RUST = os.environ.get("RUST", "/root/interop/rust/debug")
CELL_SECONDS = 150

# Command of each, and the transports that the SDK has.
SERVERS = {
    "python": (["python3", f"{PEERS}/server.py"], {"stdio", "http"}),
    "ruby": (["ruby", f"{PEERS}/server.rb"], {"stdio", "http"}),
    "perl": (["perl", f"{PEERS}/server.pl"], {"stdio", "http"}),
    "rust": ([f"{RUST}/server"], {"stdio"}),
}
CLIENTS = {
    "python": (["python3", f"{PEERS}/client.py"], {"stdio", "http"}),
    "ruby-legacy": (["ruby", f"{PEERS}/client.rb", "legacy"], {"stdio", "http"}),
    "ruby-modern": (["ruby", f"{PEERS}/client.rb", "modern"], {"stdio", "http"}),
    "perl": (["perl", f"{PEERS}/client.pl"], {"http"}),
    "rust-legacy": ([f"{RUST}/client", "legacy"], {"stdio"}),
    "rust-modern": ([f"{RUST}/client", "modern"], {"stdio"}),
}
# Name, what the client speaks, what the server speaks.
ROADS = [
    ("run CMD", "http", "stdio"),
    ("run --url", "http", "http"),
    ("aggregate", "http", "stdio"),
    ("stdio CMD", "stdio", "stdio"),
    ("stdio URL", "stdio", "http"),
]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Started:
    """A program in a group of its own, until the port that it listens on takes connections."""

    def __init__(self, command, port, log):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.end()
                    raise RuntimeError(f"{command[0]} does not listen")
                time.sleep(0.1)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def ask(client, road, target, log):
    """What the client printed, feature by feature."""
    command = [*CLIENTS[client][0], road, *target]
    try:
        out = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, timeout=CELL_SECONDS, check=False).stdout
    except subprocess.TimeoutExpired as error:
        out = error.stdout or b""
    return dict(line.split("\t", 1) for line in out.decode(errors="replace").splitlines() if "\t" in line)


def serve_http(server, stack, log):
    port = free_port()
    stack.append(Started([*SERVERS[server][0], "http", str(port)], port, log))
    return f"http://127.0.0.1:{port}/mcp"


def run_cell(client, server, road):
    log_path = RESULTS / f"{client} {server} {road}.log".replace(" ", "_").replace("/", "_")
    stack = []
    command = [*SERVERS[server][0], "stdio"]
    with open(log_path, "wb") as log:
        try:
            if road == "direct stdio":
                return ask(client, "stdio", command, log)
            if road == "direct http":
                return ask(client, "http", [serve_http(server, stack, log)], log)
            if road == "stdio CMD":
                return ask(client, "stdio", [LINEWARD, "stdio", "--", *command], log)
            if road == "stdio URL":
                return ask(client, "stdio", [LINEWARD, "stdio", serve_http(server, stack, log)], log)
            port = free_port()
            more = ["--listen", f"127.0.0.1:{port}", "--ops", "off", "--admin", "off"]
            if road == "run CMD":
                more += ["--", *command]
            elif road == "run --url":
                more += ["--url", serve_http(server, stack, log)]
            else:
                file = RESULTS / f"{client}-{server}.json"
                one = {"command": command[0], "args": command[1:]}
                file.write_text(json.dumps({"mcpServers": {"one": one, "two": one}}))
                more += [str(file)]
            stack.append(Started([LINEWARD, "run", *more], port, log))
            return ask(client, "http", [f"http://127.0.0.1:{port}/mcp"], log)
        except (RuntimeError, OSError) as error:
            return {"start": f"failed: {error}"}
        finally:
            for started in reversed(stack):
                started.end()


def good(value):
    # The tool of "ask" reports a client that cannot be asked as an error of its own.
    return value not in (None, "0") and not value.startswith(("failed", "error: Err(CapabilityNotSupported)"))


def lesser(one, other):
    """What works directly over each transport that both SDKs have: a road that mixes them promises no more."""
    common = {**one, **other}
    for feature in common:
        values = [side.get(feature) for side in (one, other)]
        bad = [value for value in values if not good(value)]
        common[feature] = (bad or [min(values, key=int) if all(v.isdigit() for v in values) else values[0]])[0]
    return common


def compare(direct, through):
    """Features that are worse and better than direct, with what came."""
    worse, better = {}, {}
    for feature in {**direct, **through}:
        if feature == "version":
            continue
        before, after = direct.get(feature), through.get(feature)
        if good(before) and before != after and not (before.isdigit() and after and after.isdigit() and int(after) > int(before)):
            worse[feature] = f"{before} -> {after}"
        elif good(after) and before != after:
            better[feature] = f"{before} -> {after}"
    return worse, better


USED = set()


def reason(*cell):
    """The reason in known.py for a feature of a cell; "*" stands for any client, server or road."""
    for key, text in KNOWN.items():
        if all(want in ("*", have) for want, have in zip(key, cell)):
            USED.add(key)
            return text
    return None


def main():
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    pairs = [
        (c, s)
        for c in CLIENTS
        for s in SERVERS
        if all(shutil.which(command[0]) for command in (CLIENTS[c][0], SERVERS[s][0]))
    ]
    wanted = {}
    for client, server in pairs:
        for road, front, back in ROADS:
            if front in CLIENTS[client][1] and back in SERVERS[server][1] and (not ONLY or any(t in f"{client} {server} {road}" for t in ONLY)):
                wanted[client, server, road] = [f"direct {both}" for both in sorted(CLIENTS[client][1] & SERVERS[server][1])]
    cells = sorted({(c, s, direct) for (c, s, _), base in wanted.items() for direct in base} | set(wanted))
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        got = dict(zip(cells, pool.map(lambda cell: run_cell(*cell), cells)))

    passed, unexplained, said = 0, [], []
    table = {}
    for (client, server, road), base in wanted.items():
        through = got[client, server, road]
        direct = lesser(*(got[client, server, one] for one in (base[0], base[-1]))) if base else {}
        worse, better = compare(direct, through)
        if not base:
            worse = {f: v for f, v in through.items() if not good(v)} if "start" in through or not through else {}
        reasons = {f: reason(client, server, road, f) for f in worse}
        bad = [f for f in worse if not reasons[f]]
        if not through or (base and not direct and not good(through.get("echo"))):
            bad.append("nothing came")
            worse["nothing came"] = str(through)
        mark = "✗" if bad else "!" if worse else "+" if better or not base or not direct else "="
        table[client, server, road] = mark
        for feature, what in worse.items():
            said.append(f"{'✗' if feature in bad else '!'} {client} -> {server}, {road}: {feature}: {what}" + (f"   ({reasons.get(feature)})" if reasons.get(feature) else ""))
        if better:
            said.append(f"+ {client} -> {server}, {road}: " + "; ".join(f"{f}: {what}" for f, what in sorted(better.items())))
        passed += not bad
        unexplained += [f"{client} {server} {road}: {f}" for f in bad]
    print("\n".join(said))
    print(f"\n{'client':<13}{'server':<9}" + "".join(f"{name:<11}" for name, _, _ in ROADS))
    for client, server in pairs:
        row = [table.get((client, server, road), "") for road, _, _ in ROADS]
        if any(row):
            print(f"{client:<13}{server:<9}" + "".join(f"{mark or '·':<11}" for mark in row))
    print("= as direct   + better, or only so   ! worse, explained   ✗ worse   · the SDK has no such transport")
    stale = [] if ONLY else [key for key in KNOWN if key not in USED]
    for key in stale:
        print(f"known.py names {key}, which is no worse")
    print(f"\n{passed} passed, {len(table) - passed + len(stale)} failed")
    sys.exit(1 if unexplained or stale or not passed else 0)


main()
