#!/usr/bin/env python3
"""server.py stdio | http PORT: the fixture of this suite on the official Python SDK."""
import sys

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

http = sys.argv[1] == "http"
server = FastMCP("fixture-python", host="127.0.0.1", port=int(sys.argv[2]) if http else 0, log_level="ERROR")


class Colour(BaseModel):
    colour: str


@server.tool()
async def echo(text: str) -> str:
    return f"echo: {text}"


@server.tool()
async def fail() -> str:
    raise ValueError("broken on purpose")


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    for i in range(count):
        await ctx.report_progress(i + 1, count)
    return f"{count} steps"


@server.tool()
async def tell(ctx: Context) -> str:
    await ctx.info("a line of the log")
    return "told"


@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("Which colour?", Colour)
    return f"colour: {answer.data.colour}" if answer.action == "accept" else answer.action


@server.resource("memo://one", name="memo-one", mime_type="text/plain")
def memo() -> str:
    return "memo one"


@server.resource("memo://hello/{name}", name="memo-hello", mime_type="text/plain")
def hello(name: str) -> str:
    return f"hello {name}"


@server.prompt()
def greet(name: str = "you") -> str:
    return f"Greet {name}."


server.run("streamable-http" if http else "stdio")
