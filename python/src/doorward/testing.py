"""Runs a handler without Doorward, for tests.

>>> from doorward.testing import talk
>>> talk(reply, "hello").text
'you said hello'
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import secrets
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._program import Handler, Program

Reply = bool | str | Sequence[str] | Mapping[str, Any]


@dataclass
class Part:
    """A message of the answer. ``kind`` is ``None`` for text."""

    id: str
    kind: str | None = None
    text: str = ""
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Talk:
    """What a handler wrote: its ``parts`` in order, the ``questions`` that it asked, the text of
    its ``error``, and all ``lines``. ``end`` has the ``usage`` and the ``suggestions``."""

    parts: list[Part] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None
    end: dict[str, Any] = field(default_factory=dict)
    lines: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of the answer, without thoughts, steps and plans."""
        return "\n\n".join(part.text for part in self.parts if part.kind is None and part.text)


def _settlement(question: Mapping[str, Any], reply: Reply | None) -> dict[str, Any]:
    """Makes the payload of ``question.settled`` as Doorward would."""
    if reply is None:
        return {"outcome": "dismissed"}
    if isinstance(reply, Mapping):
        return {"outcome": "answered", "values": dict(reply)}
    if isinstance(reply, bool):
        effect = "allow" if reply else "deny"
        options = [each for each in question.get("options", ()) if each.get("effect") == effect]
        option = options[0]["id"] if options else effect
        return {"outcome": "answered", "option": option, "effect": effect}
    if not isinstance(reply, str):
        return {"outcome": "answered", "options": list(reply)}
    known = {each["id"]: each for each in question.get("options", ())}
    if reply not in known:
        return {"outcome": "answered", "text": reply}
    effect = known[reply].get("effect")
    return {"outcome": "answered", "option": reply, **({"effect": effect} if effect else {})}


class _Doorward:
    """Takes the lines of a program, and answers its questions."""

    def __init__(self, replies: Iterable[Reply | None], history: Sequence[Mapping[str, Any]]):
        self.talk, self._replies, self._history = Talk(), iter(replies), history
        self._parts: dict[str, Part] = {}
        self.send: Callable[[Mapping[str, Any]], object] = lambda _: None

    def write(self, line: Mapping[str, Any]) -> None:
        self.talk.lines.append(line)
        type, payload = line["type"], line["payload"]
        if type in ("message.create", "message.update", "message.append"):
            self._grow(type, payload)
        elif type == "message.ack" and payload.get("final"):
            self.talk.end = dict(payload)
        elif type == "error":
            self.talk.error = payload["message"]
        elif type == "history.get":
            turns = list(self._history)[-payload["limit"] :]
            self.send({"type": "history", "id": line["id"], "payload": {"turns": turns}})
        elif type == "question.ask":
            self.talk.questions.append(dict(payload))
            if "durable" not in payload:
                settled = _settlement(payload, next(self._replies, None))
                id = payload["message_id"]
                self.send({"type": "question.settled", "id": id, "payload": settled})

    def _grow(self, type: str, payload: Mapping[str, Any]) -> None:
        id = payload.get("message_id", "")
        part = self._parts.get(id)
        if part is None:
            part = self._parts[id] = Part(id, payload.get("kind"))
            self.talk.parts.append(part)
        content = payload.get("content", "")
        part.text = part.text + content if type == "message.append" else content
        part.tool_calls = payload.get("tool_calls", part.tool_calls)
        part.entries = payload.get("entries", part.entries)
        part.attachments = payload.get("attachments", part.attachments)


async def _talk(
    handler: Handler,
    line: Mapping[str, Any],
    doorward: _Doorward,
    media_folder: str,
    state_folder: str | None,
) -> Talk:
    program = Program(handler, doorward.write, media_folder=media_folder, state_folder=state_folder)
    doorward.send = lambda each: program.loop.call_soon_threadsafe(program.receive, each)
    program.receive(line)
    await program.idle()
    return doorward.talk


def talk(
    handler: Handler,
    content: str,
    *,
    replies: Iterable[Reply | None] = (),
    session: str = "test",
    history: Sequence[Mapping[str, Any]] = (),
    state_folder: str | None = None,
    **payload: Any,
) -> Talk:
    """Sends a message to a handler, answers its questions, and returns what it wrote.

    :param replies: The answers to its questions, in order: ``True`` and ``False`` allow and deny,
        a text is the id of an option or a free text, a dictionary has the values of a form, and
        ``None`` closes the question. Questions without a reply are closed.
    :param state_folder: Where ``message.state`` is kept from one call to the next.
    :param payload: More fields of the message, such as ``media``, ``tools`` and ``answer``.
    """
    line = {
        "type": "message.send",
        "id": secrets.token_hex(8),
        "channel": "pico",
        "session_id": session,
        "payload": {"content": content, **payload},
    }
    doorward = _Doorward(replies, history)
    with tempfile.TemporaryDirectory() as media, concurrent.futures.ThreadPoolExecutor(1) as pool:
        # A thread of its own, because the test may have a loop that runs.
        call = _talk(handler, line, doorward, media, state_folder)
        return pool.submit(asyncio.run, call).result()
