# Asks the client for the weather: calls the tool "weather" that the client offers, and uses its
# result. Start it with `doorward run -- python3 tools.py`, and turn a protocol on (docs/doors.md).
import json
import sys


def write(frame, **payload):
    print(json.dumps({"type": frame, "payload": payload}), flush=True)


def answer(message):
    request, payload = message["id"], message["payload"]
    offered = [tool["name"] for tool in payload.get("tools", [])]
    results = payload.get("tool_results", [])
    if results:
        text = ", ".join(result["content"] for result in results)
        write("message.create", request_id=request, content="The client says: " + text)
    elif "weather" in offered and payload.get("tool_choice") != "none":
        city = json.dumps({"city": payload["content"] or "Rome"})
        call = {"id": "call_" + request, "function": {"name": "weather", "arguments": city}}
        calls = [{**call, "for": "client"}]
        write("message.create", request_id=request, kind="tool_calls", tool_calls=calls)
    else:
        write("message.create", request_id=request, content="There is no tool for the weather.")


write("ready", can=["tools"])
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "message.send":
        answer(message)
