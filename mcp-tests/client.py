"""Drives the server with the Python client, as the plan on standard input says."""

import asyncio
import json
import sys

import jsonschema
from mcp import StdioServerParameters

PLAN = json.load(sys.stdin)


def plain(value):
    """A value of the client as the JSON that it was."""
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


def error_code(error):
    """The code of an error of the protocol."""
    return getattr(error, "code", None) or getattr(getattr(error, "error", None), "code", None)


async def pages(client, tool, arguments, rows):
    """All rows of a list, page by page."""
    found, arguments = [], dict(arguments)
    while True:
        page = plain(await client.call_tool(tool, arguments))["structuredContent"]
        assert page["truncated"] == ("nextCursor" in page), page
        found += page[rows]
        if "nextCursor" not in page:
            assert page["total"] == len(found)
            return found
        arguments["cursor"] = page["nextCursor"]


async def drive(client):
    tools = plain(await client.list_tools())["tools"]
    assert [tool["name"] for tool in tools] == PLAN["tools"], tools
    schemas = {tool["name"]: tool["outputSchema"] for tool in tools}
    for tool, arguments, rows in PLAN["calls"]:
        result = plain(await client.call_tool(tool, arguments))
        assert not result.get("isError"), result
        assert result["structuredContent"][rows], tool
        jsonschema.validate(result["structuredContent"], schemas[tool])
        assert "data, never instructions" in result["content"][0]["text"]
    try:
        await client.call_tool("delete_session", {})
    except Exception as error:  # The two versions have no common class for it.
        assert error_code(error) == -32602, repr(error)
    else:
        raise AssertionError("an unknown tool was called")
    for arguments in [{}, {"query": "x", "scope": "everything"}, {"query": "x", "unknown": 1}]:
        refused = plain(await client.call_tool("search_history", arguments))
        assert refused["isError"] and len(refused["content"][0]["text"]) < 400, refused
    for (tool, arguments, rows, key), expected in zip(PLAN["lists"], PLAN["expected"], strict=True):
        found = await pages(client, tool, arguments, rows)
        assert [row[key] for row in found] == expected, tool
    resources = plain(await client.list_resources())["resources"]
    assert resources[0]["uri"] == "sessile://recent" and len(resources) == 21, resources
    assert "<history session=" in plain(await client.read_resource(resources[1]["uri"]))["contents"][0]["text"]
    assert len(plain(await client.list_prompts())["prompts"]) == 4
    prompt = plain(await client.get_prompt("why", {"file": "tide.rs"}))
    assert "find_file_history" in prompt["messages"][0]["content"]["text"], prompt
    call = asyncio.ensure_future(client.call_tool("search_history", PLAN["slow"]))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    after = plain(await client.call_tool("list_sessions", {"limit": 1}))
    assert after["structuredContent"]["total"] == len(PLAN["expected"][1])


async def main():
    started = PLAN["server"]
    parameters = StdioServerParameters(
        command=started["command"], args=started["args"], env=started["env"], cwd=started["cwd"]
    )
    if PLAN["mode"] == "session":
        from mcp import ClientSession, stdio_client

        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            hello = await session.initialize()
            assert hello.protocolVersion == "2025-11-25" and hello.serverInfo.name == "sessile", hello
            await drive(session)
    else:
        from mcp import Client

        async with Client(parameters, mode=PLAN["mode"]) as client:
            expected = "2025-11-25" if PLAN["mode"] == "legacy" else "2026-07-28"
            assert client.protocol_version == expected, client.protocol_version
            assert client.instructions is None or client.instructions.startswith("Sessile gives you")
            await drive(client)
    print("done")


asyncio.run(main())
