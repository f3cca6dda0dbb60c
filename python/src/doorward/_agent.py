"""Connects a handler with Doorward, over standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from ._program import Handler, Program

F = TypeVar("F", bound=Handler)

_NEEDED = ("stop", "append", "parts")
_current: Program | None = None
# The status that was given before the start.
_status: Mapping[str, Any] | None = None


class Lines:
    """Standard input and output as lines of JSON.

    What libraries print goes to standard error, and what they read is empty, so neither reaches
    Doorward. Windows: a file opened for bytes has no text mode, so no line end is changed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._input = os.fdopen(os.dup(0), "rb")
        self._output = os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        sys.stdout.flush()
        os.dup2(2, 1)
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(line_buffering=True)

    def write(self, line: Mapping[str, Any]) -> None:
        """Writes a line. It waits while Doorward does not read."""
        text = json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Half of a surrogate pair, as JavaScript may send it, has no UTF-8.
        data = text.encode("utf-8", "replace") + b"\n"
        with self._lock, contextlib.suppress(BrokenPipeError):  # Doorward has ended
            self._output.write(data)
            self._output.flush()

    def read(self, receive: Callable[[Mapping[str, Any]], None]) -> None:
        """Passes on each line until the input ends."""
        for data in self._input:
            try:
                line = json.loads(data)
            except ValueError:
                print("a line of Doorward is not JSON; it is ignored", file=sys.stderr)
                continue
            receive(line)


async def _serve(handler: Handler, can: tuple[str, ...], is_ordered: bool) -> None:
    global _current
    lines, loop = Lines(), asyncio.get_running_loop()
    ended, killed = asyncio.Event(), asyncio.Event()
    program = Program(
        handler,
        lines.write,
        can=can,
        is_ordered=is_ordered,
        media_folder=os.environ.get("DOORWARD_MEDIA"),
        state_folder=os.environ.get("DOORWARD_STATE"),
    )
    _current = program
    if _status is not None:
        program.write(_status)

    def receive(line: Mapping[str, Any]) -> None:
        loop.call_soon_threadsafe(program.receive, line)

    def read() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            lines.read(receive)
            loop.call_soon_threadsafe(ended.set)

    def kill(*_: object) -> None:
        loop.call_soon_threadsafe(killed.set)

    try:
        loop.add_signal_handler(signal.SIGTERM, kill)
    except NotImplementedError:  # Windows
        signal.signal(signal.SIGTERM, kill)
    threading.Thread(target=read, name="doorward-input", daemon=True).start()

    async def finish() -> None:
        await ended.wait()
        program.input_ended()
        await program.idle()

    waits = [loop.create_task(finish()), loop.create_task(killed.wait())]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    await program.end()
    for wait in waits:
        wait.cancel()


def _missing(can: tuple[str, ...]) -> list[str]:
    has = os.environ["DOORWARD_CAN"].split(",")
    return [name for name in (*_NEEDED, *can) if name not in has]


def _main(handler: Handler, can: tuple[str, ...], is_ordered: bool) -> None:
    if "DOORWARD_CAN" not in os.environ:
        file = sys.argv[0] or "FILE"
        sys.exit(f"Doorward runs this program. Start it with: doorward run -- python3 {file}")
    if missing := _missing(can):
        sys.exit(f"This program needs a newer Doorward: this one has no {', '.join(missing)}.")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(handler, can, is_ordered))


@overload
def agent(handler: F) -> F: ...


@overload
def agent(*, parallel: bool = False, can: tuple[str, ...] = ()) -> Callable[[F], F]: ...


def agent(
    handler: F | None = None, *, parallel: bool = False, can: tuple[str, ...] = ()
) -> F | Callable[[F], F]:
    """Makes a function the application of Doorward, if its file is the program.

    The function takes a ``Message``, and an ``Answer`` if it has two parameters. It is a
    coroutine, a generator or a plain function; what it yields or returns is the text of the
    answer. Plain functions and generators run in threads and get a ``BlockingAnswer``.

    :param parallel: The next message of a session does not wait for the end of the answer.
    :param can: What else the program understands: ``"tools"`` (it follows ``message.tools`` and
        ``tool_choice``) and ``"continue"``.
    """

    def run(function: F) -> F:
        if function.__module__ == "__main__":
            _main(function, can, not parallel)
        return function

    return run if handler is None else run(handler)


def send(session: str, text: str, *, channel: str = "pico") -> None:
    """Sends a message that answers none, for example when a timer ends.

    :raises RuntimeError: no agent runs in this process.
    """
    if _current is None:
        raise RuntimeError("no agent runs in this process: call send() from its handler")
    _current.write(
        {
            "type": "message.create",
            "channel": channel,
            "session_id": session,
            "payload": {"content": text},
        }
    )


def status(
    state: str = "ready", message: str | None = None, fix: str | None = None, **fields: Any
) -> None:
    """Says how the program is, for the overview, ``doorward doctor`` and the chat page.

    It may be called before the agent starts. An older Doorward does not learn it.

    :param state: ``ready``, ``starting``, ``needs_action`` or ``failed``.
    :param message: A sentence about the state, and ``fix``: how to repair it.
    :param fields: ``name``, ``mode``, ``modes``, ``commands`` and ``counts``, as docs/programs.md
        describes them.
    """
    global _status
    given = {"state": state, "message": message, "fix": fix, **fields}
    payload = {name: value for name, value in given.items() if value is not None}
    if "status" not in os.environ.get("DOORWARD_CAN", "").split(","):
        return
    _status = {"type": "status", "payload": payload}
    if _current is not None:
        _current.write(_status)
