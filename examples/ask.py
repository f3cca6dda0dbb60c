import json, shutil, sys

def say(line_type, **payload):
    print(json.dumps({"type": line_type, "payload": payload}), flush=True)

for text in sys.stdin:
    line = json.loads(text)
    if line["type"] == "message.send":
        question = {"kind": "approval", "title": "rm -r build", "content": "Delete the folder build?"}
        say("question.ask", request_id=line["id"], message_id=line["id"], **question)
    elif line["type"] == "question.settled":
        if allowed := line["payload"].get("effect") == "allow":
            shutil.rmtree("build", ignore_errors=True)
        say("message.create", request_id=line["id"], content="Deleted." if allowed else "Kept.")
