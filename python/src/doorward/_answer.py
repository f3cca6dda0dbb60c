"""What a handler writes: text, thoughts, steps, plans, files and questions."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from ._message import Answered, Message, Stopped, Turns

if TYPE_CHECKING:
    from ._program import Program

Options = Sequence["str | Mapping[str, Any]"]

_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_MAX_ID = 64


def _schema(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Makes a JSON Schema of ``{"city": str, "when": {"type": "string", "format": "date"}}``."""
    if fields.get("type") == "object":
        return dict(fields)
    properties = {
        name: {"type": _TYPES[each]} if isinstance(each, type) else each
        for name, each in fields.items()
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _options(given: Options) -> list[dict[str, Any]]:
    """Gives each option an id: its text, or its number if the text is too long for one."""
    return [
        dict(each)
        if not isinstance(each, str)
        else {"id": each if len(each) <= _MAX_ID else str(number), "label": each}
        for number, each in enumerate(given, 1)
    ]


def _chosen(given: Options, option: str | None) -> str | None:
    """Finds the text of an option by its id."""
    for each, made in zip(given, _options(given), strict=True):
        if made["id"] == option:
            return each if isinstance(each, str) else option
    return option


class Step:
    """A step of the answer, such as the call of a tool. Call it with the result to complete it.

    >>> step = answer.tool("search", {"q": "doorward"}, title="Search the web")
    >>> step("3 hits")

    ``step(error="no network")`` says that it failed. ``id`` names it in a question.
    """

    def __init__(self, answer: BaseAnswer, message_id: str, call: dict[str, Any]) -> None:
        self._answer, self._message_id, self._call = answer, message_id, call
        self.id: str = call["id"]
        self.is_open = True

    def update(self, **changes: Any) -> None:
        """Changes ``title``, ``state``, ``details`` or ``locations`` of a step that goes on."""
        self._call.update(changes)
        self._write(final=False)

    def __call__(self, result: Any = None, *, error: str | None = None, **changes: Any) -> None:
        if error is not None:
            self._call.update(state="failed", error=error)
        else:
            text = result if isinstance(result, str) else json.dumps(result, default=str)
            self._call.update(state="completed", result=text)
        self._call.update(changes)
        self.is_open = False
        self._write(final=True)

    def _write(self, *, final: bool) -> None:
        content = self._call.get("title") or self._call["function"]["name"]
        self._answer._line(
            "message.update",
            message_id=self._message_id,
            content=content,
            final=final,
            tool_calls=[self._call],
        )


class BaseAnswer:
    """The answer in progress: what does not wait. Each method may be called from any thread.

    ``usage`` (``{"input_tokens", "output_tokens", …}``), ``model``, ``finish_reason`` and
    ``suggestions`` (at most four messages to send next) are sent when the answer ends.
    """

    def __init__(self, program: Program, message: Message) -> None:
        self._program, self.message = program, message
        self._open: tuple[str, str | None] | None = None
        self._buffer: list[str] = []
        self._steps: list[Step] = []
        self._plan: str | None = None
        self.usage: Mapping[str, int] | None = None
        self.model: str | None = None
        self.finish_reason: str | None = None
        self.suggestions: Sequence[str] = ()

    def write(self, text: str) -> None:
        """Adds text to the answer. A ``yield`` of the handler does the same."""
        self._write(text, None)

    def think(self, text: str) -> None:
        """Adds text to a thought, which clients show apart from the answer."""
        self._write(text, "thought")

    def tool(
        self,
        name: str,
        arguments: Any = None,
        *,
        id: str | None = None,
        state: str = "running",
        **step: Any,
    ) -> Step:
        """Shows a step. ``step`` may have ``title``, ``kind``, ``locations`` and ``details``."""
        message_id = self._program.new_id()
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, default=str)
        call = {
            "id": id or message_id,
            "function": {"name": name, "arguments": text},
            "state": state,
            **step,
        }
        made = Step(self, message_id, call)
        with self._program.lock:
            self._close()
            self._steps.append(made)
            self._create(
                message_id,
                kind="tool_calls",
                content=step.get("title") or name,
                final=False,
                tool_calls=[call],
            )
        return made

    def call(self, name: str, arguments: Any = None, *, id: str | None = None) -> str:
        """Asks the client to run one of ``message.tools``, and returns the id of the call.

        The answer ends then. The result is a later message with ``tool_results``.
        """
        message_id = self._program.new_id()
        call = {
            "id": id or message_id,
            "for": "client",
            "function": {"name": name, "arguments": json.dumps(arguments or {})},
        }
        with self._program.lock:
            self._close()
            self._create(message_id, kind="tool_calls", content="", tool_calls=[call])
        return str(call["id"])

    def plan(self, entries: Iterable[tuple[str, str] | Mapping[str, Any]]) -> None:
        """Shows a plan, or replaces the one of this answer.

        An entry is ``(text, state)`` with ``pending``, ``running``, ``completed`` or ``failed``,
        or a dictionary with ``content``, ``state`` and ``priority``.
        """
        rows = [
            dict(each) if isinstance(each, Mapping) else {"content": each[0], "state": each[1]}
            for each in entries
        ]
        with self._program.lock:
            if self._plan is not None:
                self._line("message.update", message_id=self._plan, content="", entries=rows)
                return
            self._close()
            self._plan = self._program.new_id()
            self._create(self._plan, kind="plan", content="", final=False, entries=rows)

    def file(
        self,
        source: str | os.PathLike[str] | bytes,
        *,
        name: str | None = None,
        content_type: str | None = None,
        text: str = "",
    ) -> None:
        """Sends a file, with an optional text.

        :param source: A path, or the content.
        :param name: The name that people see. Default: the name of the path.
        :raises RuntimeError: this Doorward keeps no files.
        """
        folder = self._program.media_folder
        if folder is None:
            raise RuntimeError("this Doorward keeps no files: DOORWARD_MEDIA is not set")
        if not isinstance(source, bytes):
            name = name or os.path.basename(os.fspath(source))
        # The name that people see is sent apart, so the one on disk needs no part of it.
        path = os.path.join(folder, self._program.new_id())
        if isinstance(source, bytes):
            with open(path, "wb") as file:
                file.write(source)
        else:
            shutil.copyfile(source, path)
        attachment = {"path": path, "filename": name or "file", "content_type": content_type}
        clean = {key: value for key, value in attachment.items() if value is not None}
        with self._program.lock:
            self._close()
            self._create(self._program.new_id(), content=text, final=True, attachments=[clean])

    def title(self, text: str) -> None:
        """Names the conversation, at most 200 characters. A title of a person stays."""
        self._line("conversation.title", request_id=self.message.id, title=text)

    def ask_later(
        self,
        key: str,
        content: str,
        *,
        kind: str = "approval",
        tool: Step | str | None = None,
        **question: Any,
    ) -> None:
        """Asks a question that outlives this program.

        The answer is a later message with ``message.answer``, whose ``key`` is yours. It comes
        again until a handler has begun with it, so a handler must bear it twice.
        """
        with self._program.lock:
            self._close()
            self.message.state.save()
            self._ask_line(self._program.new_id(), content, kind, tool, durable=key, **question)

    def _line(self, type: str, **payload: Any) -> None:
        clean = {key: value for key, value in payload.items() if value is not None}
        self._program.write({"type": type, "payload": clean})

    def _create(self, message_id: str, **payload: Any) -> None:
        self._line("message.create", request_id=self.message.id, message_id=message_id, **payload)

    def _write(self, text: str, kind: str | None) -> None:
        if not isinstance(text, str):
            raise TypeError(f"the text of an answer is a str, not {type(text).__name__}")
        if not text:
            return
        with self._program.lock:
            if self._open is None or self._open[1] != kind:
                self._close()
                self._open = (self._program.new_id(), kind)
                self._create(self._open[0], content=text, final=False, kind=kind)
                return
            if not self._buffer:
                self._program.later(self._flush)
            self._buffer.append(text)

    def _flush(self) -> None:
        """Writes what was added since the last line: one line in 30 ms, not one for each token."""
        with self._program.lock:
            if self._open is not None and self._buffer:
                text = "".join(self._buffer)
                self._buffer.clear()
                self._line("message.append", message_id=self._open[0], content=text)

    def _close(self) -> None:
        with self._program.lock:
            if self._open is None:
                return
            text = "".join(self._buffer)
            self._buffer.clear()
            self._line("message.append", message_id=self._open[0], content=text, final=True)
            self._open = None

    def _close_steps(self, error: str) -> None:
        for step in self._steps:
            if step.is_open:
                step(error=error)

    def _end(self) -> None:
        with self._program.lock:
            self._close()
            self._line(
                "message.ack",
                request_id=self.message.id,
                final=True,
                usage=self.usage,
                model_name=self.model,
                finish_reason=self.finish_reason,
                suggestions=list(self.suggestions) or None,
            )

    def _ask_line(
        self, message_id: str, content: str, kind: str, tool: Step | str | None, **question: Any
    ) -> None:
        call = tool.id if isinstance(tool, Step) else tool
        self._line(
            "question.ask",
            request_id=self.message.id,
            message_id=message_id,
            kind=kind,
            content=content,
            tool_call_id=call,
            **question,
        )

    async def _ask(
        self, content: str, kind: str, tool: Step | str | None, question: Mapping[str, Any]
    ) -> Answered:
        with self._program.lock:
            self._close()
        message_id = self._program.new_id()
        with self._program.expect(self.message.id, message_id) as settled:
            self._ask_line(message_id, content, kind, tool, **question)
            try:
                return Answered.of(await settled)
            except asyncio.CancelledError:
                # Doorward itself settles the questions of an answer that is stopped.
                is_stopped = self.message.stopped.is_set()
                if not is_stopped and self._program.may_withdraw(self.message.id):
                    self._line("question.withdraw", message_id=message_id)
                raise

    async def _choose(
        self, content: str, options: Options, multiple: bool, question: Mapping[str, Any]
    ) -> str | list[str] | None:
        several = {"multiple": True} if multiple else {}
        asked = {"options": _options(options), **several, **question}
        answered = await self._ask(content, "choice", None, asked)
        if answered.outcome != "answered":
            return None
        chosen = answered.options or ((answered.option,) if answered.option else ())
        texts = [str(_chosen(options, each)) for each in chosen]
        if multiple:
            return texts
        return texts[0] if texts else answered.text

    async def _form(
        self, content: str, fields: Mapping[str, Any], question: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        answered = await self._ask(content, "form", None, {"schema": _schema(fields), **question})
        return answered.values if answered.outcome == "answered" else None

    async def _history(self, limit: int, before: str | None) -> Turns:
        request = self._program.new_id()
        payload: dict[str, Any] = {"request_id": self.message.id, "limit": limit}
        if before is not None:
            payload["before"] = before
        with self._program.expect(self.message.id, request) as answered:
            self._program.write({"type": "history.get", "id": request, "payload": payload})
            return Turns.of(await answered)


class Answer(BaseAnswer):
    """The answer of a coroutine or an asynchronous generator: what waits is awaited."""

    async def ask(
        self,
        content: str,
        *,
        kind: str = "approval",
        tool: Step | str | None = None,
        **question: Any,
    ) -> Answered:
        """Asks the people of the conversation, and waits: it is true only if one of them allows.

        ``question`` has the fields of ``question.ask``: ``title``, ``options``, ``timeout_s``, …

        :raises Refused: Doorward cannot ask this: ``code`` and text say why.
        """
        return await self._ask(content, kind, tool, question)

    async def allow(
        self, content: str, *, tool: Step | str | None = None, **question: Any
    ) -> Answered:
        """Asks for approval: ``if await answer.allow("Delete 3 files?", tool=step): …``."""
        return await self._ask(content, "approval", tool, question)

    @overload
    async def choose(
        self, content: str, options: Options, *, multiple: Literal[False] = False, **question: Any
    ) -> str | None: ...

    @overload
    async def choose(
        self, content: str, options: Options, *, multiple: Literal[True], **question: Any
    ) -> list[str] | None: ...

    async def choose(
        self, content: str, options: Options, *, multiple: bool = False, **question: Any
    ) -> str | list[str] | None:
        """Asks to choose among at most eight texts, and returns the chosen one.

        With ``multiple``, it returns a list. With ``other=True``, a person may write a text in
        place of a choice. ``None`` means that no one chose.
        """
        return await self._choose(content, options, multiple, question)

    async def form(
        self, content: str, fields: Mapping[str, Any], **question: Any
    ) -> Mapping[str, Any] | None:
        """Asks for values, such as ``{"city": str, "nights": int}``, or a JSON Schema.

        Returns the values, or ``None`` if no one gave them. They are stored: ask for no secret.
        """
        return await self._form(content, fields, question)

    async def history(self, limit: int = 50, before: str | None = None) -> Turns:
        """Reads the turns before this message, oldest first, at most 200."""
        return await self._history(limit, before)


class BlockingAnswer(BaseAnswer):
    """The answer of a plain function or generator, which runs in a thread: what waits blocks.

    A stop raises ``Stopped`` in the call that waits, and in each ``write``.
    """

    def _line(self, type: str, **payload: Any) -> None:
        # A thread cannot be cancelled, so it learns of a stop when it writes.
        if self.message.stopped.is_set() and not self._program.is_own_thread():
            raise Stopped
        super()._line(type, **payload)

    def ask(
        self,
        content: str,
        *,
        kind: str = "approval",
        tool: Step | str | None = None,
        **question: Any,
    ) -> Answered:
        """Asks, and waits: see ``Answer.ask``."""
        return self._program.block(self._ask(content, kind, tool, question))

    def allow(self, content: str, *, tool: Step | str | None = None, **question: Any) -> Answered:
        """Asks for approval: see ``Answer.allow``."""
        return self._program.block(self._ask(content, "approval", tool, question))

    @overload
    def choose(
        self, content: str, options: Options, *, multiple: Literal[False] = False, **question: Any
    ) -> str | None: ...

    @overload
    def choose(
        self, content: str, options: Options, *, multiple: Literal[True], **question: Any
    ) -> list[str] | None: ...

    def choose(
        self, content: str, options: Options, *, multiple: bool = False, **question: Any
    ) -> str | list[str] | None:
        """Asks to choose: see ``Answer.choose``."""
        return self._program.block(self._choose(content, options, multiple, question))

    def form(
        self, content: str, fields: Mapping[str, Any], **question: Any
    ) -> Mapping[str, Any] | None:
        """Asks for values: see ``Answer.form``."""
        return self._program.block(self._form(content, fields, question))

    def history(self, limit: int = 50, before: str | None = None) -> Turns:
        """Reads earlier turns: see ``Answer.history``."""
        return self._program.block(self._history(limit, before))
