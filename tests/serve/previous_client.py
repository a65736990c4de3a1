"""A client of the SDK's previous generation, run by an environment of its own: command of the server -> what it got."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    program, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        opened = await session.initialize()
        tools = await session.list_tools()
        answer = await session.call_tool("activate_memory", {"query": "job queue", "state": ""})
        while answer.isError and "index_preparing" in answer.content[0].text:
            await asyncio.sleep(0.1)
            answer = await session.call_tool("activate_memory", {"query": "job queue", "state": ""})
        refusal = await session.call_tool("activate_memory", {"query": "job queue", "glob": "*.md"})
        resources = await session.list_resources()
    got = {
        "protocol": opened.protocolVersion,
        "tools": [tool.name for tool in tools.tools],
        "paths": [fragment["path"] for fragment in answer.structuredContent["fragments"]],
        "refusal": json.loads(refusal.content[0].text)["code"],
        "resources": len(resources.resources),
    }
    sys.stdout.write(json.dumps(got))


asyncio.run(main())
