"""A server with the form of OpenAI's chat completions. It asks for a tool when told to delete."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def _pieces(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    last = messages[-1]
    words = str(last.get("content"))
    if last["role"] == "tool":
        yield from ({"content": f"{word} "} for word in f"The tool: {words}".split(" "))
    elif "delete" in words:
        arguments = json.dumps({"folder": "build"})
        function = {"name": "delete_folder", "arguments": arguments}
        call = {
            "index": 0,
            "id": f"call_{secrets.token_hex(4)}",
            "type": "function",
            "function": function,
        }
        yield {"content": "Let me see. "}
        yield {"tool_calls": [call]}
    elif "slow" in words:
        for number in range(500):
            time.sleep(0.02)
            yield {"content": f"{number} "}
    else:
        yield from ({"content": f"{word} "} for word in f"you said {words}".split(" "))


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Prints nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        calls = False
        try:
            for number, delta in enumerate(_pieces(body["messages"])):
                calls = calls or "tool_calls" in delta
                role = {"role": "assistant"} if number == 0 else {}
                self._send({"index": 0, "delta": {**role, **delta}, "finish_reason": None})
            reason = "tool_calls" if calls else "stop"
            self._send({"index": 0, "delta": {}, "finish_reason": reason})
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            return  # the agent was stopped

    def _send(self, choice: dict[str, Any]) -> None:
        chunk = {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "fake",
            "choices": [choice],
        }
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())


def start_fake_model() -> tuple[str, ThreadingHTTPServer]:
    """Returns the base URL of a new server, and the server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1", server
