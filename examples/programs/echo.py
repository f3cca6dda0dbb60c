import json, sys

for line in sys.stdin:
    message = json.loads(line)
    reply = {"request_id": message["id"], "content": "you said " + message["payload"]["content"]}
    print(json.dumps({"type": "message.create", "payload": reply}), flush=True)
