import json, re, sys
for line in sys.stdin:
    message = json.loads(line)
    pdf = open(message["payload"]["media"][0]["path"], "rb").read()
    reply = {"request_id": message["id"], "content": "%d pages" % len(re.findall(rb"/Type\s*/Page\b", pdf))}
    print(json.dumps({"type": "message.create", "payload": reply}), flush=True)
