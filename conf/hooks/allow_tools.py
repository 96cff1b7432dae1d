#!/usr/bin/env python3
"""A hook for Lineward: which tools each server's clients may call, by a table in a file.

The file has one rule on a line, SERVER TOOL, each with * for any: `github get_*`. It is read again when it changes.
Each question comes as a line of JSON on stdin, and is answered by a line with the same id on stdout.
"""
import fnmatch
import json
import os
import sys

rules, read_at = [], None


def allowed(server, tool):
    global rules, read_at
    changed = os.stat(sys.argv[1]).st_mtime_ns
    if changed != read_at:
        with open(sys.argv[1], encoding="utf-8") as lines:
            rules = [line.split() for line in lines if line.strip() and not line.startswith("#")]
        read_at = changed
        print(f"{len(rules)} rules", file=sys.stderr, flush=True)
    return any(fnmatch.fnmatch(server, rule[0]) and fnmatch.fnmatch(tool, rule[1]) for rule in rules)


for line in sys.stdin:
    question = json.loads(line)
    facts = question["facts"]
    if allowed(facts["server"], facts["target"]):
        answer = {"verdict": "proceed"}
    else:
        answer = {"verdict": "refuse", "error": {"message": f"{facts['target']} is not on the list"}}
    print(json.dumps({"id": question["id"], **answer}), flush=True)
