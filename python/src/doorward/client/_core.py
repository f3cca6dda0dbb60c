"""What both clients share: it reads frames and keeps state, and does no input or output.

The frames are those of docs/pico.md.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

# The server pings streams each 30 s; after this time without a byte, the connection is dead.
SILENCE_SECONDS = 75.0
REQUEST_SECONDS = 40.0
# Pause before the next attempt, doubled from the first to the last.
_FIRST_PAUSE, _LAST_PAUSE = 0.2, 30.0
_MAX_REFUSALS = 2
# A frame has at most some 20 MiB of images; a longer line is no frame.
_MAX_EVENT_BYTES = 64 * 1024 * 1024
_MAX_PARTS = 1_024
_LOOKS = 3
_MAX_KNOWN = 256

Answer = Mapping[str, Any]


class Rejected(Exception):
    """The server rejected a request. ``code`` is from docs/errors.md, the text is the server's."""

    def __init__(
        self, status: int, code: str, text: str, data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.status, self.code, self.text, self.data = status, code, text, data or {}


class Failed(Exception):
    """The application failed to answer. ``reply`` has what it wrote before."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.problem or f"the answer ended as {reply.outcome}")
        self.reply, self.code = reply, reply.code


class Unreachable(ConnectionError):
    """The server did not respond in time. It may have acted: repeat the message with its id."""


class OutOfStep(Exception):
    """A growing text has another length than the server says: resume to get the whole text."""


@dataclass
class Question:
    """A question of the application. ``state`` is ``open`` or ``settled``.

    ``settled`` then has ``outcome``, ``option``, ``by``, ``via`` and ``at``.
    """

    id: str
    kind: str
    content: str
    title: str | None = None
    options: Sequence[Mapping[str, Any]] = ()
    schema: Mapping[str, Any] | None = None
    url: str | None = None
    request_id: str | None = None
    tool_call_id: str | None = None
    expires_at: int | None = None
    state: str = "open"
    settled: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Question:
        question = payload["question"]
        return cls(
            id=payload["message_id"],
            kind=question.get("kind", "approval"),
            content=payload.get("content", ""),
            title=question.get("title"),
            options=tuple(question.get("options", ())),
            schema=question.get("schema"),
            url=question.get("url"),
            request_id=payload.get("request_id"),
            tool_call_id=question.get("tool_call_id"),
            expires_at=question.get("expires_at"),
            state=question.get("state", "open"),
            settled=question.get("settled"),
        )


@dataclass
class Part:
    """A message of the application. ``kind`` is ``None`` for text."""

    id: str
    kind: str | None = None
    text: str = ""
    is_final: bool = False
    request_id: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    attachments: Sequence[Mapping[str, Any]] = ()


@dataclass
class Reply:
    """The answer to one message: it grows until ``outcome`` is set.

    ``outcome`` is ``completed``, ``stopped``, ``failed`` (``code`` and ``problem`` say why) or
    ``lost``: the server ended while the application worked. ``has_gap`` says that the connection
    missed frames which the server no longer had; ``parts`` then come from the history.
    """

    id: str
    parts: dict[str, Part] = field(default_factory=dict)
    outcome: str | None = None
    code: str | None = None
    problem: str | None = None
    usage: Mapping[str, int] | None = None
    suggestions: Sequence[str] = ()
    has_gap: bool = False
    is_unsure: bool = field(default=False, repr=False)
    version: int = field(default=0, repr=False)
    seen: int = field(default=0, repr=False)
    looks: int = field(default=0, repr=False)

    @property
    def text(self) -> str:
        """The text so far, without thoughts, steps and questions."""
        texts = (part.text for part in self.parts.values() if part.kind is None)
        return "\n\n".join(text for text in texts if text)


def utf16_length(text: str) -> int:
    """The unit in which the server counts texts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class EventParser:
    """Reads server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._id: str | None = None
        self.retry_seconds: float | None = None

    def feed(self, data: bytes) -> list[tuple[str | None, Any]]:
        """Returns the complete events as pairs of an id and the parsed data, or ``None``.

        :raises ValueError: an event is too large, or not JSON.
        """
        events: list[tuple[str | None, Any]] = []
        self._rest += data
        if len(self._rest) > _MAX_EVENT_BYTES:
            raise ValueError("an event has more than 64 MiB")
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        for line in map(bytes, lines):
            if line.rstrip(b"\r"):
                self._field(line.rstrip(b"\r"))
            elif self._data or self._id is not None:
                text = b"\n".join(self._data)
                events.append((self._id, json.loads(text) if text else None))
                self._data, self._id = [], None
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id":
            self._id = value.decode()
        elif name == b"retry" and value.isdigit():
            self.retry_seconds = int(value) / 1_000


class Backoff:
    """Growing pauses with a random share, and the count of refused tokens."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random, self._pause, self._refusals = random, _FIRST_PAUSE, 0

    def reset(self) -> None:
        self._pause, self._refusals = _FIRST_PAUSE, 0

    def next(self, at_least: float | None = None) -> float:
        """Returns the pause in seconds before the next attempt."""
        pause = max(self._pause, min(at_least or 0, _LAST_PAUSE))
        self._pause = min(_LAST_PAUSE, self._pause * 2)
        return pause * (0.5 + self._random())

    def is_final(self, error: Rejected) -> bool:
        """True if no further attempt can succeed: a wrong request, or the second refused token."""
        if error.status in (401, 403):
            self._refusals += 1
            return self._refusals >= _MAX_REFUSALS
        return error.status < 500 and error.status not in (408, 429)


@dataclass(frozen=True)
class Address:
    """Where the channel is. The token never leaves this host: redirects are not followed."""

    tls: bool
    host: str
    port: int | None
    base: str

    @classmethod
    def of(cls, url: str) -> Address:
        """Reads ``http(s)://HOST/pico`` or ``ws(s)://HOST/pico``.

        :raises ValueError: the text is no such URL.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise ValueError("url must be like http://127.0.0.1:18800/pico or wss://HOST/pico")
        if parts.query or parts.username or parts.fragment:
            raise ValueError("url must have no token, query or user name: pass the token apart")
        tls = parts.scheme in ("https", "wss")
        return cls(tls, parts.hostname, parts.port, parts.path.rstrip("/") or "/pico")

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{'https' if self.tls else 'http'}://{host}{port}"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def read_response(status: int, body: bytes) -> Any:
    """Returns the JSON of a response.

    :raises Rejected: the status is an error.
    """
    try:
        data = json.loads(body or b"{}")
    except ValueError:
        data = {}
    if status < 300:
        return data
    known = data if isinstance(data, dict) else {}
    code, text = known.get("error") or f"http_{status}", known.get("message", "")
    raise Rejected(status, str(code), str(text), known)


def is_temporary(error: Rejected) -> bool:
    """True if the same request may succeed soon."""
    return error.status in (429, 502, 503) and error.code not in ("application_ended", "bad_answer")


class Requests:
    """Makes the requests of one session."""

    def __init__(self, address: Address, session: str) -> None:
        self._base, self._session = address.base, session

    def events(self, cursor: str | None) -> Request:
        query = {
            "session_id": self._session,
            "pico_ext": "1",
            "pico_can": "append,questions,stop,turns",
        }
        headers = {"Accept": "text/event-stream"}
        if cursor is not None:
            headers["Last-Event-ID"] = cursor
        return Request("GET", f"{self._base}/events?{urlencode(query)}", headers=headers)

    def _post(self, path: str, **body: Any) -> Request:
        given = {key: value for key, value in body.items() if value is not None}
        data = json.dumps({"session_id": self._session, **given}).encode()
        headers = {"Content-Type": "application/json"}
        return Request("POST", self._base + path, data, headers)

    def message(self, id: str, content: str, files: Iterable[str], replaces: str | None) -> Request:
        media = [{"id": each} for each in files] or None
        return self._post("/messages", id=id, content=content, media=media, replaces=replaces)

    def stop(self, request_id: str | None) -> Request:
        return self._post("/stop", request_id=request_id)

    def answer(self, question: str, given: Answer) -> Request:
        return self._post("/answer", message_id=question, **given)

    def history(self, limit: int, before: str | None) -> Request:
        query = {
            "session_id": self._session,
            "limit": limit,
            **({"before": before} if before else {}),
        }
        return Request("GET", f"{self._base}/history?{urlencode(query)}")

    def upload(self, content: bytes, name: str | None, content_type: str | None) -> Request:
        headers = {"Content-Type": content_type or "application/octet-stream"}
        if name is not None:
            # RFC 6266 and RFC 8187.
            headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
        path = f"{self._base}/media?{urlencode({'session_id': self._session})}"
        return Request("POST", path, content, headers)

    def fetch(self, url: str) -> Request:
        """:raises ValueError: the address is not a file of this server."""
        prefix = f"{self._base}/media/"
        if not url.startswith(prefix) or "/" in url[len(prefix) :]:
            raise ValueError(f"only files of this server are fetched: {prefix}ID")
        return Request("GET", url)


def read_file(source: str | os.PathLike[str] | bytes, name: str | None) -> tuple[bytes, str | None]:
    if isinstance(source, bytes):
        return source, name
    with open(source, "rb") as file:
        return file.read(), name or os.path.basename(os.fspath(source))


class Conversation:
    """The state of one session, from its frames."""

    def __init__(self, cursor: str | None) -> None:
        self.cursor = cursor
        self.replies: dict[str, Reply] = {}
        self.questions: dict[str, Question] = {}
        self._parts: OrderedDict[str, Part] = OrderedDict()
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()
        # Frames of other types are ignored, as docs/pico.md asks.
        self._readers: Mapping[str, Callable[[Any], list[Part | Question] | None]] = {
            "hello": self._on_hello,
            "gap": self._on_gap,
            "message.create": self._on_message,
            "message.update": self._on_message,
            "message.append": self._on_append,
            "message.delete": self._on_delete,
            "answer.end": self._on_end,
        }

    def take(self, id: str | None, frame: Any) -> list[Part | Question]:
        """Reads an event.

        :returns: What is new for callbacks: parts, and questions that were opened or settled.
        :raises OutOfStep: the text of a part has another length than the server says.
        :raises ValueError: the frame is malformed.
        """
        news: list[Part | Question] = []
        if isinstance(frame, dict):
            read = self._readers.get(str(frame.get("type")))
            try:
                news = (read and read(frame.get("payload") or {})) or []
            except (KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"a frame of the type {frame.get('type')} is malformed") from error
        if id is not None:
            self.cursor = id
        return news

    def _changed(self, request_id: str | None) -> Reply | None:
        reply = self.replies.get(request_id or "")
        if reply is not None:
            reply.version += 1
        return reply

    def _on_hello(self, payload: Mapping[str, Any]) -> list[Part | Question]:
        running = payload.get("running")
        if running is not None:
            known = {each["request_id"] for each in running}
            for reply in self.replies.values():
                reply.is_unsure, reply.looks = reply.id not in known, 0
        still_open = payload.get("questions")
        if still_open is None:
            return []
        gone = [each for each in self.questions.values() if each.id not in set(still_open)]
        for question in gone:
            del self.questions[question.id]
            question.state = "settled"
        return self._told_first(gone)

    def _on_gap(self, _: Mapping[str, Any]) -> None:
        for reply in self.replies.values():
            reply.has_gap = reply.is_unsure = True

    def _on_message(self, payload: Mapping[str, Any]) -> list[Part | Question]:
        part = self._part(payload["message_id"])
        part.kind = payload.get("kind", part.kind)
        part.text = payload.get("content", "")
        part.is_final = bool(payload.get("final"))
        part.request_id = payload.get("request_id", part.request_id)
        part.tool_calls = payload.get("tool_calls", part.tool_calls)
        part.attachments = payload.get("attachments", part.attachments)
        if "question" in payload:
            part.kind = "question"
            return [self._shown(part), *self._ask(Question.of(payload))]
        return [self._shown(part)]

    def _on_append(self, payload: Mapping[str, Any]) -> list[Part | Question]:
        part = self._parts.get(payload["message_id"])
        if part is None or utf16_length(part.text) != payload["at"]:
            raise OutOfStep
        part.text += payload["content"]
        part.is_final = bool(payload.get("final"))
        return [self._shown(part)]

    def _on_delete(self, payload: Mapping[str, Any]) -> None:
        part = self._parts.pop(payload["message_id"], None)
        if part is not None and (reply := self._changed(part.request_id)):
            reply.parts.pop(part.id, None)

    def _on_end(self, payload: Mapping[str, Any]) -> None:
        if reply := self._changed(payload.get("request_id")):
            reply.outcome = payload["outcome"]
            reply.code, reply.problem = payload.get("code"), payload.get("message")
            reply.usage, reply.suggestions = payload.get("usage"), payload.get("suggestions", ())

    def _part(self, id: str) -> Part:
        part = self._parts.get(id)
        if part is None:
            part = self._parts[id] = Part(id)
            if len(self._parts) > _MAX_PARTS:
                self._parts.popitem(last=False)
        return part

    def _shown(self, part: Part) -> Part:
        if reply := self._changed(part.request_id):
            reply.parts[part.id] = part
        return part

    def _ask(self, question: Question) -> list[Part | Question]:
        if question.state == "open":
            self.questions[question.id] = question
        else:
            self.questions.pop(question.id, None)
        return self._told_first([question])

    def _told_first(self, questions: Iterable[Question]) -> list[Part | Question]:
        """The questions that callbacks have not seen in this state, however often they come."""
        news: list[Part | Question] = []
        for question in questions:
            key = (question.id, question.state)
            if key not in self._told:
                self._told[key] = None
                news.append(question)
                if len(self._told) > _MAX_KNOWN:
                    self._told.popitem(last=False)
        return news

    def end_by_history(self, reply: Reply, turns: Sequence[Mapping[str, Any]]) -> None:
        """Ends a reply whose end the stream does not have: see ``Reply.has_gap``.

        A server that was killed has stored no outcome. It may also be about to store one, so
        only the third look in a row says that the reply is lost.
        """
        asked = [turn for turn in turns if turn.get("requestId") == reply.id]
        outcome = asked[-1].get("outcome") if asked else None
        reply.looks += 1
        if reply.outcome is None and outcome is None and reply.looks < _LOOKS:
            return
        own = [turn for turn in turns if turn.get("inReplyTo") == reply.id]
        if own and (reply.has_gap or reply.outcome is None):
            reply.parts = {turn["id"]: _part_of(turn, reply.id) for turn in own}
        if reply.outcome is None:
            reply.outcome = outcome or "lost"
            reply.code = asked[-1].get("code") if asked else None
        reply.is_unsure = False
        reply.version += 1


def _part_of(turn: Mapping[str, Any], request_id: str) -> Part:
    return Part(
        id=turn["id"],
        kind="question" if "question" in turn else turn.get("kind"),
        text=turn.get("content", ""),
        is_final=turn.get("complete", True),
        request_id=request_id,
        tool_calls=turn.get("toolCalls", ()),
        attachments=turn.get("attachments", ()),
    )


def settle_rejection(reply: Reply, error: Exception) -> None:
    """Ends a reply whose message was rejected.

    :raises Exception: the error, unless a person stopped the message before it was accepted.
    """
    if isinstance(error, Rejected) and error.code == "stopped":
        reply.outcome = "stopped"
    else:
        raise error


def already(error: Rejected) -> dict[str, Any]:
    """The result of an answer that came second.

    :raises Rejected: the answer was rejected for another reason.
    """
    if error.code != "already_settled":
        raise error
    return {"status": "already", "settled": error.data.get("settled")}
