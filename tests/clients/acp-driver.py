# Runs the Python package agent-client-protocol as an editor: one JSON command per line.
import asyncio
import json
import sys

from acp import PROTOCOL_VERSION, text_block
from acp.stdio import spawn_agent_process

state = {"choose": None, "updates": [], "permissions": [], "withdrawn": 0}


def say(value):
    print(json.dumps(value), flush=True)


class Editor:
    async def session_update(self, session_id, update, **_):
        state["updates"].append(update.model_dump(by_alias=True, exclude_none=True, mode="json"))

    async def request_permission(self, options, session_id, tool_call, **_):
        state["permissions"].append(tool_call.title)
        say({"event": "permission"})
        if state["choose"]:
            return {"outcome": {"outcome": "selected", "optionId": state["choose"]}}
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            state["withdrawn"] += 1
            raise


async def main():
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    held = {}

    async def run(command):
        number, op = command.pop("id"), command.pop("op")
        agent = held.get("agent")
        session = command.get("sessionId")
        try:
            if op == "start":
                process = spawn_agent_process(Editor(), *command["command"])
                held["agent"], _ = await process.__aenter__()
                held["process"] = process
                result = await held["agent"].initialize(protocol_version=PROTOCOL_VERSION)
            elif op == "new":
                result = await agent.new_session(cwd="/project", mcp_servers=[])
            elif op == "load":
                result = await agent.load_session(cwd="/project", session_id=session, mcp_servers=[])
            elif op == "resume":
                result = await agent.resume_session(cwd="/project", session_id=session, mcp_servers=[])
            elif op == "prompt":
                state["choose"] = command.get("choose")
                result = await agent.prompt(session_id=session, prompt=[text_block(command["text"])])
            elif op == "cancel":
                result = await agent.cancel(session_id=session)
            elif op == "end":
                result = await held["process"].__aexit__(None, None, None)
            if hasattr(result, "model_dump"):
                result = result.model_dump(by_alias=True, exclude_none=True, mode="json")
        except Exception as error:
            result = {"error": repr(error)}
        say({"id": number, "result": result, **{k: state[k] for k in ("updates", "permissions", "withdrawn")}})

    tasks = set()
    while line := await reader.readline():
        tasks.add(asyncio.create_task(run(json.loads(line))))


asyncio.run(main())
