# Shows a plan, the change of a file, and the output of a command.
import json, sys

def say(type, **payload):
    print(json.dumps({"type": type, "payload": payload}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] != "message.send":
        continue
    plan = [{"content": "Change the greeting", "state": "running"}, {"content": "Run the tests", "state": "pending"}]
    say("message.create", request_id=message["id"], message_id="p" + message["id"], kind="plan", entries=plan)
    before = "def greet():\n    return 'hello'\n" + "".join(f"\ndef f{n}(): return {n}" for n in range(20)) + "\n"
    diff = {"type": "diff", "path": "greet.py", "old": before, "new": before.replace("hello", "good day")}
    edit = {"id": "1", "function": {"name": "edit", "arguments": "{}"}, "title": "Change the greeting", "kind": "edit"}
    edit |= {"state": "completed", "details": [diff], "locations": [{"path": "greet.py", "line": 2}]}
    output = {"type": "terminal", "text": "$ pytest\n\u001b[32m1 passed\u001b[0m in 0.01 s", "exit": 0}
    test = {"id": "2", "function": {"name": "run", "arguments": "{}"}, "title": "Run the tests", "kind": "execute"}
    test |= {"state": "completed", "details": [output]}
    say("message.create", request_id=message["id"], kind="tool_calls", tool_calls=[edit, test])
    for entry in plan:
        entry["state"] = "completed"
    say("message.update", message_id="p" + message["id"], entries=plan, final=True)
    say("message.create", request_id=message["id"], content="The greeting is changed.")
