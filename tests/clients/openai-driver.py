"""Runs calls of the OpenAI library for Python: one JSON object per line in, one per line out."""

import json
import sys
import threading

from openai import APIError, OpenAI

lock = threading.Lock()


def describe(error):
    return {
        "error": {
            "status": getattr(error, "status_code", None),
            "code": getattr(error, "code", None),
            "param": getattr(error, "param", None),
            "type": getattr(error, "type", None),
            "name": type(error).__name__,
            "message": str(error),
        }
    }


def usage_of(usage):
    return None if usage is None else usage.model_dump(exclude_none=True)


def whole(completion):
    choice = completion.choices[0]
    return {
        "id": completion.id,
        "model": completion.model,
        "text": choice.message.content,
        "reasoning": getattr(choice.message, "reasoning_content", None) or "",
        "toolCalls": choice.message.tool_calls is not None,
        "finish": choice.finish_reason,
        "usage": usage_of(completion.usage),
    }


def collect(stream, close_after, found):
    found.update({"text": "", "reasoning": "", "chunks": 0, "roles": [], "first": None, "usage": None})
    for chunk in stream:
        found["chunks"] += 1
        if chunk.usage:
            found["usage"] = usage_of(chunk.usage)
        if not chunk.choices:
            continue
        choice = chunk.choices[0]
        delta = choice.delta
        if found["first"] is None:
            found["first"] = delta.model_dump(exclude_none=True)
        if delta.role:
            found["roles"].append(delta.role)
        found["text"] += delta.content or ""
        found["reasoning"] += getattr(delta, "reasoning_content", None) or ""
        if choice.finish_reason:
            found["finish"] = choice.finish_reason
        if delta.tool_calls:
            found["toolCalls"] = True
        if close_after is not None and len(found["text"]) >= close_after:
            stream.close()
            break
    return found


def run(call, found):
    options = call.get("options") or {}
    client = OpenAI(
        base_url=call["baseURL"],
        api_key=call["token"],
        max_retries=call.get("retries", 0),
        default_headers={**(call.get("headers") or {}), **options.get("headers", {})},
    )
    op, body = call["op"], call.get("body")
    if op == "models":
        return [model.model_dump() for model in client.models.list().data]
    if op == "model":
        return client.models.retrieve(call["model"]).model_dump()
    if op == "chat":
        raw = client.chat.completions.with_raw_response.create(**body)
        return {**whole(raw.parse()), "headers": dict(raw.headers)}
    if op == "stream":
        return collect(client.chat.completions.create(**{**body, "stream": True}), call.get("closeAfter"), found)
    if op == "helper":
        with client.chat.completions.stream(**body) as stream:
            for _ in stream:
                pass
            return whole(stream.get_final_completion())
    if op == "response":
        return client.responses.create(**body).model_dump()
    if op == "responseStream":
        with client.responses.stream(**body) as stream:
            types = [event.type for event in stream]
            return {"types": types, "final": stream.get_final_response().model_dump()}
    raise ValueError(op)


def handle(call):
    found = {}
    try:
        result = run(call, found)
    except (APIError, RuntimeError) as error:
        result = {**found, **describe(error)}
    with lock:
        print(json.dumps({"id": call["id"], "result": result}), flush=True)


for line in sys.stdin:
    threading.Thread(target=handle, args=(json.loads(line),)).start()
