#!/usr/bin/env python3
"""client.py http URL | stdio COMMAND…: asks for each feature, and prints a line "feature<TAB>what came" for each."""
import asyncio
import sys
from contextlib import asynccontextmanager

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl


@asynccontextmanager
async def transport():
    if sys.argv[1] == "http":
        async with streamable_http_client(sys.argv[2]) as (reads, writes, _):
            yield reads, writes
    else:
        async with stdio_client(StdioServerParameters(command=sys.argv[2], args=sys.argv[3:])) as streams:
            yield streams


def named(items, name):
    """Of several servers as one the first with that name: the others are told apart by a prefix."""
    return next(item.name for item in items if item.name.endswith(name))


async def main():
    logs = []

    async def on_elicitation(context, params):
        return types.ElicitResult(action="accept", content={"colour": "blue"})

    async def on_log(params):
        logs.append(params.data)

    async with transport() as (reads, writes):
        async with ClientSession(reads, writes, elicitation_callback=on_elicitation, logging_callback=on_log) as session:
            begun = await session.initialize()
            print(f"version\t{begun.protocolVersion}")
            tools = (await session.list_tools()).tools

            async def call(tool, arguments=None, **more):
                result = await session.call_tool(named(tools, tool), arguments or {}, **more)
                return ("error: " if result.isError else "") + result.content[0].text

            async def progress():
                seen = []

                async def on_progress(done, total, message):
                    seen.append(done)

                await call("steps", {"count": 3}, progress_callback=on_progress)
                return len(seen)

            async def log():
                await call("tell")
                await asyncio.sleep(0.2)
                return len(logs)

            async def large():
                return len(await call("echo", {"text": "x" * 300_000}))

            async def unknown():
                try:
                    result = await session.call_tool("no-such-tool", {})
                except McpError:
                    return "error"
                return "error" if result.isError else "no error"

            async def text_of(uri):
                return (await session.read_resource(AnyUrl(uri))).contents[0].text

            async def resource():
                items = (await session.list_resources()).resources
                return await text_of(next(str(r.uri) for r in items if r.name.endswith("memo-one")))

            async def template():
                items = (await session.list_resource_templates()).resourceTemplates
                return await text_of(next(t.uriTemplate for t in items if t.name.endswith("memo-hello")).replace("{name}", "you"))

            async def prompt():
                items = (await session.list_prompts()).prompts
                return (await session.get_prompt(named(items, "greet"), {"name": "Zoë"})).messages[0].content.text

            async def many():
                answers = await asyncio.gather(*(call("echo", {"text": str(i)}) for i in range(20)))
                return sum(answer == f"echo: {i}" for i, answer in enumerate(answers))

            async def ping():
                await session.send_ping()
                return "pong"

            for name, feature in {
                "echo": lambda: call("echo", {"text": "Grüße ✓"}),
                "large": large,
                "fail": lambda: call("fail"),
                "unknown": unknown,
                "progress": progress,
                "log": log,
                "ask": lambda: call("ask"),
                "resource": resource,
                "template": template,
                "prompt": prompt,
                "many": many,
                "ping": ping,
            }.items():
                try:
                    print(f"{name}\t{await asyncio.wait_for(feature(), 15)}", flush=True)
                except Exception as error:  # the line says it
                    print(f"{name}\tfailed: {type(error).__name__} {error}".replace("\n", " ")[:300], flush=True)


asyncio.run(main())
