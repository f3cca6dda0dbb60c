"""What a handler receives: a message, its files, and the outcome of a question."""

from __future__ import annotations

import base64
import binascii
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from ._state import State

if TYPE_CHECKING:
    from typing_extensions import Self


class Refused(Exception):
    """Doorward rejected a question or a request.

    ``code`` is a word such as ``invalid_question``, the text says what is wrong.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Stopped(BaseException):
    """A person stopped the answer. Raised in plain functions, where a coroutine is cancelled.

    It is not an ``Exception``, so that ``except Exception`` does not continue a stopped answer.
    """


@dataclass(frozen=True)
class Settled:
    """How a question ended. ``allowed`` is true only if a person chose an option that allows.

    ``outcome`` is ``answered``, ``dismissed``, ``expired``, ``withdrawn`` or ``lost``. The answer
    is in ``option``, ``options``, ``values`` (of a form) or ``text``. ``by`` says who gave it, and
    ``via`` where. ``key`` is the one of ``ask_later``.
    """

    outcome: str
    option: str | None = None
    options: tuple[str, ...] = ()
    values: Mapping[str, Any] | None = None
    text: str | None = None
    effect: str | None = None
    by: Mapping[str, Any] | None = None
    via: str | None = None
    at: int | None = None
    key: str = ""
    message_id: str = ""

    @property
    def allowed(self) -> bool:
        return self.outcome == "answered" and self.effect == "allow"

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Self:
        """Reads the payload of ``question.settled`` or ``payload.answer`` of a message."""
        known = {each.name: payload[each.name] for each in fields(cls) if each.name in payload}
        return cls(**{**known, "options": tuple(payload.get("options") or ())})


class Answered(Settled):
    """The result of ``allow`` and ``ask``: true if a person allowed."""

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(frozen=True)
class File:
    """A file of a message. ``path`` is on this machine, or ``url`` is a ``data:`` URL."""

    name: str | None = None
    content_type: str | None = None
    size: int | None = None
    path: str | None = None
    url: str | None = None
    id: str | None = None

    def read(self) -> bytes:
        """Returns the content.

        :raises ValueError: the file has neither a path nor a ``data:`` URL. Doorward on several
            nodes without a shared ``media.path`` sends such files.
        """
        if self.path is not None:
            with open(self.path, "rb") as file:
                return file.read()
        head, comma, body = (self.url or "").partition(",")
        if not head.startswith("data:") or not comma:
            raise ValueError(f"the file {self.name or self.id or ''!r} is not on this machine")
        if not head.endswith(";base64"):
            return unquote_to_bytes(body)
        try:
            return base64.b64decode(body, validate=True)
        except binascii.Error as error:
            raise ValueError("the data: URL of a file is damaged") from error

    @classmethod
    def of(cls, given: str | Mapping[str, Any]) -> File:
        if isinstance(given, str):
            kind = given[5:].split(",", 1)[0].split(";", 1)[0] if given[:5] == "data:" else None
            return cls(url=given, content_type=kind or None)
        return cls(
            name=given.get("filename"),
            content_type=given.get("content_type"),
            size=given.get("size"),
            path=given.get("path"),
            url=given.get("url"),
            id=given.get("id"),
        )


class Turns(list[dict[str, Any]]):
    """Earlier turns, oldest first. Pass ``before`` to read the page that precedes them."""

    before: str | None = None

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Turns:
        turns = cls(payload.get("turns") or ())
        turns.before = payload.get("before")
        return turns


def _files(media: Iterable[str | Mapping[str, Any]], details: Iterable[Mapping[str, Any]]) -> Any:
    names = list(details)
    for index, each in enumerate(media):
        more = names[index] if index < len(names) and isinstance(each, str) else {}
        yield File.of({"url": each, **more} if isinstance(each, str) else each)


@dataclass(frozen=True)
class Message:
    """A message of a person or a program.

    ``content`` is the text, ``files`` its files, ``session`` the conversation on ``channel``, and
    ``sender`` who wrote it (``{"id", "name"?}``). ``answer`` is set if the message is the answer
    to a question of ``ask_later``, also if it is a no: see ``answer.allowed``. ``tools``,
    ``tool_choice`` and ``tool_results`` are those of a client of another product. ``raw`` is the
    whole payload. ``stopped`` is set when a person stops the answer.
    """

    id: str
    channel: str
    session: str
    content: str
    files: tuple[File, ...] = ()
    sender: Mapping[str, Any] | None = None
    answer: Settled | None = None
    previous: tuple[Mapping[str, Any], ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Any = "auto"
    tool_results: tuple[Mapping[str, Any], ...] = ()
    continues: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)
    state: State = field(default_factory=State, repr=False)
    """What the handler keeps of this conversation: a dictionary that outlives the program. It is
    stored when the answer ends, and before a question of ``ask_later``."""
    stopped: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    @classmethod
    def of(cls, line: Mapping[str, Any], folder: str | os.PathLike[str] | None = None) -> Message:
        """Reads a line of the type ``message.send``."""
        payload = line.get("payload") or {}
        channel, session = line.get("channel", "pico"), line.get("session_id", "")
        return cls(
            id=line["id"],
            channel=channel,
            session=session,
            content=payload.get("content", ""),
            files=tuple(_files(payload.get("media", ()), payload.get("attachments", ()))),
            sender=payload.get("sender"),
            answer=Settled.of(payload["answer"]) if "answer" in payload else None,
            previous=tuple(payload.get("previous", ())),
            tools=tuple(payload.get("tools", ())),
            tool_choice=payload.get("tool_choice", "auto"),
            tool_results=tuple(payload.get("tool_results", ())),
            continues=bool(payload.get("continue")),
            raw=payload,
            state=State(folder, channel, session),
        )
