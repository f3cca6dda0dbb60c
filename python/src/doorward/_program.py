"""Runs a handler for each line of Doorward, on one event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import inspect
import itertools
import os
import secrets
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping
from typing import Any, TypeVar

from ._answer import Answer, BaseAnswer, BlockingAnswer
from ._message import Message, Refused, Stopped

T = TypeVar("T")
Handler = Callable[..., Any]

_FLUSH_SECONDS = 0.03
_MAX_ERROR = 1_000


def is_coroutine(handler: Handler) -> bool:
    """True for coroutines and asynchronous generators; plain ones run in a thread."""
    return inspect.iscoroutinefunction(handler) or inspect.isasyncgenfunction(handler)


class _Run:
    """One message in the handler."""

    def __init__(self, program: Program, message: Message) -> None:
        self.program, self.message = program, message
        self.is_async = is_coroutine(program.handler)
        kind = Answer if self.is_async else BlockingAnswer
        self.answer: BaseAnswer = kind(program, message)
        self.waits: set[asyncio.Future[Any]] = set()
        self.has_begun = False
        # Its answer arrives no more, because Doorward has ended the input.
        self.is_lost = False
        self.task = program.loop.create_task(self._perform())

    def stop(self) -> None:
        """Cancels a coroutine. A thread sees ``message.stopped``, and ``Stopped`` in its calls."""
        self.message.stopped.set()
        # A task that is canceled before it begins would write no end.
        if self.is_async and self.has_begun:
            self.task.cancel()
        for wait in self.waits:
            wait.cancel()

    async def _perform(self) -> None:
        program, answer = self.program, self.answer
        self.has_begun = True
        try:
            if self.message.stopped.is_set():
                raise Stopped
            await self._call()
            # A value that is not JSON fails the answer, which the author then sees.
            self.message.state.save()
        except (asyncio.CancelledError, Stopped) as error:
            if program.is_ending or self.is_lost:
                return  # Doorward ends the answer itself, and its questions are lost.
            if not self.message.stopped.is_set():
                self._fail(error)
                return
            answer._close_steps("stopped")
            answer.finish_reason = "stopped"
            answer._end()
        except Exception as error:
            self._fail(error)
        else:
            answer._close_steps("not completed")
            answer._end()

    def _fail(self, error: BaseException) -> None:
        traceback.print_exception(error)
        self.answer._close()
        self.answer._close_steps("failed")
        text = f"{type(error).__name__}: {error}"[:_MAX_ERROR]
        self.answer._line("error", request_id=self.message.id, message=text)

    async def _call(self) -> None:
        handler, answer = self.program.handler, self.answer
        given = (self.message, answer)[: self.program.parameters]
        if inspect.isasyncgenfunction(handler):
            async with contextlib.aclosing(handler(*given)) as texts:
                async for text in texts:
                    answer.write(text)
        elif self.is_async:
            self._write_result(await handler(*given))
        else:
            await _in_thread(self.program.loop, lambda: self._call_plain(given))

    def _call_plain(self, given: tuple[Any, ...]) -> None:
        made = self.program.handler(*given)
        if not isinstance(made, Generator):
            self._write_result(made)
            return
        with contextlib.closing(made):
            for text in made:
                self.answer.write(text)

    def _write_result(self, result: Any) -> None:
        if result is not None:
            self.answer.write(result)


def _in_thread(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> asyncio.Future[None]:
    """Runs a function in a thread of its own, which does not keep the process from ending."""
    future: asyncio.Future[None] = loop.create_future()
    context = contextvars.copy_context()

    def settle(error: BaseException | None) -> None:
        if future.done():
            return
        if isinstance(error, StopIteration):
            error = RuntimeError("the handler raised StopIteration")
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def run() -> None:
        failure: BaseException | None = None
        try:
            context.run(work)
        except BaseException as error:  # passed on to the task
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, failure)

    threading.Thread(target=run, name="doorward-handler", daemon=True).start()
    return future


class Program:
    """A handler between lines in and lines out.

    :param write: Receives each line as a dictionary. It may be called from any thread.
    :param is_ordered: The next message of a session comes when the answer has ended.
    """

    def __init__(
        self,
        handler: Handler,
        write: Callable[[Mapping[str, Any]], None],
        *,
        can: tuple[str, ...] = (),
        is_ordered: bool = True,
        media_folder: str | None = None,
        state_folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.handler, self.write = handler, write
        self.parameters = min(2, len(inspect.signature(handler).parameters))
        self.media_folder, self.state_folder = media_folder, state_folder
        self.lock = threading.RLock()
        self.loop = asyncio.get_running_loop()
        self.is_ending = self._has_input_ended = False
        self._thread = threading.get_ident()
        self._runs: dict[str, _Run] = {}
        self._waits: dict[str, tuple[asyncio.Future[Any], str]] = {}
        # Other programs and earlier runs of this one make ids, too.
        self._prefix, self._numbers = secrets.token_hex(8), itertools.count()
        ready: dict[str, Any] = {"can": ["stop", "parts", "media", "questions", *can]}
        if is_ordered:
            ready["order"] = "ended"
        write({"type": "ready", "payload": ready})

    def new_id(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"

    def is_own_thread(self) -> bool:
        return threading.get_ident() == self._thread

    def later(self, run: Callable[[], None]) -> None:
        """Runs a function on the loop in 30 ms."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self.loop.call_soon_threadsafe(self.loop.call_later, _FLUSH_SECONDS, run)

    def block(self, call: Coroutine[Any, Any, T]) -> T:
        """Waits for a coroutine in the thread of a plain handler."""
        future = asyncio.run_coroutine_threadsafe(call, self.loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError as error:
            raise Stopped from error

    def may_withdraw(self, request: str) -> bool:
        """False if Doorward itself settles the questions of the answer."""
        run = self._runs.get(request)
        return run is not None and not (run.is_lost or self.is_ending)

    @contextlib.contextmanager
    def expect(self, request: str, id: str) -> Iterator[asyncio.Future[Any]]:
        """A future with the payload of the line that answers ``id``."""
        future: asyncio.Future[Any] = self.loop.create_future()
        run = self._runs.get(request)
        self._waits[id] = (future, request)
        if run is not None:
            run.waits.add(future)
            run.is_lost = run.is_lost or self._has_input_ended
            if run.message.stopped.is_set() or run.is_lost:
                future.cancel()
        try:
            yield future
        finally:
            del self._waits[id]
            if run is not None:
                run.waits.discard(future)

    def receive(self, line: Mapping[str, Any]) -> None:
        """Handles a line of Doorward. Unknown types are ignored."""
        type, id, payload = line.get("type"), line.get("id", ""), line.get("payload") or {}
        if type == "message.send":
            self._begin(line)
        elif type == "message.stop":
            self._stop(id)
        elif type in ("question.settled", "history"):
            self._settle(id, payload)
        elif type == "error":
            self._reject(id, payload)

    def _begin(self, line: Mapping[str, Any]) -> None:
        message = Message.of(line, self.state_folder)
        # It has arrived, so no client sends it again, and a kill does not repeat its work.
        self.write({"type": "message.ack", "payload": {"request_id": message.id}})
        run = self._runs[message.id] = _Run(self, message)
        run.task.add_done_callback(lambda _: self._runs.pop(message.id, None))

    def _stop(self, request: str) -> None:
        if request in self._runs:
            self._runs[request].stop()

    def _settle(self, id: str, payload: Mapping[str, Any]) -> None:
        future, request = self._waits.get(id, (None, ""))
        if payload.get("outcome") == "stopped":
            # `message.stop` of the run follows. A handler must not take this for a no.
            self._stop(request)
        elif future is not None and not future.done():
            future.set_result(payload)

    def _reject(self, id: str, payload: Mapping[str, Any]) -> None:
        code, text = payload.get("code", "rejected"), payload.get("message", "")
        future, _ = self._waits.get(id, (None, ""))
        if future is not None and not future.done():
            future.set_exception(Refused(code, text))
        else:
            print(f"Doorward rejected a line: {code}: {text}", file=sys.stderr)

    async def idle(self) -> None:
        """Waits until no handler runs."""
        while self._runs:
            await asyncio.wait([run.task for run in self._runs.values()])

    def input_ended(self) -> None:
        """No answer to a question arrives any more; other work may still end."""
        self._has_input_ended = True
        for future, request in list(self._waits.values()):
            if request in self._runs:
                self._runs[request].is_lost = True
            future.cancel()

    async def end(self) -> None:
        """Cancels what runs. Doorward ends the answers."""
        self.is_ending = True
        tasks = [run.task for run in self._runs.values()]
        for run in list(self._runs.values()):
            run.message.stopped.set()
            run.task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
