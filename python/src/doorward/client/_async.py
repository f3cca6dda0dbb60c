"""A client for asyncio. It needs ``httpx``."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import ssl
import traceback
import uuid
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from ._core import (
    REQUEST_SECONDS,
    SILENCE_SECONDS,
    Address,
    Backoff,
    Conversation,
    EventParser,
    Failed,
    OutOfStep,
    Part,
    Question,
    Rejected,
    Reply,
    Request,
    Requests,
    Unreachable,
    already,
    is_temporary,
    read_file,
    read_response,
    settle_rejection,
)

if TYPE_CHECKING:
    import httpx

_CHECK_SECONDS = 2.0


class AsyncClient:
    """A client of one session, with the parameters and methods of ``Client``.

    >>> async with AsyncClient(url, token) as chat:
    ...     print(await chat.say("hello"))

    :raises ImportError: ``httpx`` is not installed.
    """

    def __init__(
        self,
        url: str,
        token: str,
        session: str | None = None,
        *,
        cursor: str | None = None,
        on_message: Callable[[Part], object] | None = None,
        on_question: Callable[[Question], object] | None = None,
        timeout: float = 60.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise ImportError(
                "AsyncClient needs httpx: pip install doorward[async]", name="httpx"
            ) from error
        self._httpx = httpx
        self.session = session or uuid.uuid4().hex
        self.cuts = 0
        self._address, self._timeout = Address.of(url), timeout
        self._on_message, self._on_question = on_message, on_question
        self._requests = Requests(self._address, self.session)
        self._state = Conversation(cursor)
        self._error: Exception | None = None
        self._changed, self._connected = asyncio.Event(), asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        # The token is for this server alone: no proxy of the environment, and no redirect.
        self._http = httpx.AsyncClient(
            base_url=self._address.origin,
            headers={"Authorization": f"Bearer {token}"},
            verify=context or True,
            trust_env=False,
            follow_redirects=False,
        )

    async def __aenter__(self) -> AsyncClient:
        self._reading = asyncio.create_task(self._read())
        try:
            await asyncio.wait_for(self._connected.wait(), self._timeout)
            if self._error is not None:
                raise self._error
        except asyncio.TimeoutError as error:
            await self.close()
            raise Unreachable(f"no response from {self._address.origin}") from error
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def cursor(self) -> str | None:
        """The position after the last frame. Keep it to continue later."""
        return self._state.cursor

    @property
    def questions(self) -> list[Question]:
        """The open questions, oldest first, also those from before this connection."""
        return list(self._state.questions.values())

    async def say(self, content: str, *, files: list[str] | None = None) -> str:
        """Sends a message, and returns the text of the answer: see ``Client.say``."""
        reply = None
        async for each in self.ask(content, files=files):
            reply = each
        assert reply is not None
        if reply.outcome in ("failed", "lost"):
            raise Failed(reply)
        return reply.text

    async def ask(
        self,
        content: str,
        *,
        id: str | None = None,
        files: list[str] | None = None,
        replaces: str | None = None,
    ) -> AsyncIterator[Reply]:
        """Sends a message, and yields the growing reply: see ``Client.ask``."""
        reply = Reply(id or uuid.uuid4().hex)
        self._state.replies[reply.id] = reply
        request = self._requests.message(reply.id, content, files or (), replaces)
        posting = asyncio.create_task(self._send(request))
        posting.add_done_callback(lambda _: self._note(reply))
        try:
            while reply.outcome is None:
                has_changed = await self._wait(reply)
                if reply.outcome == "failed":
                    await asyncio.wait([posting], timeout=_CHECK_SECONDS)  # it has the words
                failure = posting.exception() if posting.done() else None
                if isinstance(failure, Exception) and reply.outcome != "completed":
                    settle_rejection(reply, failure)
                if reply.is_unsure and (reply.outcome is not None or not has_changed):
                    self._state.end_by_history(reply, await self.history(200))
                if has_changed or reply.outcome is not None:
                    yield reply
        finally:
            self._state.replies.pop(reply.id, None)
            posting.cancel()

    def _note(self, reply: Reply) -> None:
        reply.version += 1
        self._changed.set()

    async def _wait(self, reply: Reply) -> bool:
        """Waits until the reply has changed, or some time has passed."""
        end = asyncio.get_running_loop().time() + _CHECK_SECONDS
        while reply.version == reply.seen and self._error is None:
            self._changed.clear()
            left = end - asyncio.get_running_loop().time()
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except asyncio.TimeoutError:
                return False
        if self._error is not None:
            raise self._error
        reply.seen = reply.version
        return True

    async def answer(self, question: Question | str, **given: Any) -> dict[str, Any]:
        """Answers a question: see ``Client.answer``."""
        id = question.id if isinstance(question, Question) else question
        try:
            data: dict[str, Any] = await self._send(self._requests.answer(id, given))
            return data
        except Rejected as error:
            return already(error)

    async def stop(self, request_id: str | None = None) -> list[dict[str, Any]]:
        """Stops one message, or all of the session: see ``Client.stop``."""
        stopped: list[dict[str, Any]] = (await self._send(self._requests.stop(request_id)))[
            "stopped"
        ]
        return stopped

    async def history(self, limit: int = 50, before: str | None = None) -> list[dict[str, Any]]:
        """Reads turns of both sides, oldest first, at most 200."""
        data = await self._send(self._requests.history(limit, before))
        turns: list[dict[str, Any]] = data["turns"]
        return turns

    async def upload(
        self,
        source: str | os.PathLike[str] | bytes,
        *,
        name: str | None = None,
        content_type: str | None = None,
    ) -> str:
        """Uploads a file, and returns its id for ``files`` of a message."""
        content, name = await asyncio.to_thread(read_file, source, name)
        return str((await self._send(self._requests.upload(content, name, content_type)))["id"])

    async def fetch(self, url: str) -> bytes:
        """Downloads an attachment, whose ``url`` is a path on this server."""
        return await self._exchange(self._requests.fetch(url))

    async def close(self) -> None:
        """Closes the connection. Messages that were sent go on."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        self._error = self._error or Unreachable("the client is closed")
        self._changed.set()
        await self._http.aclose()

    def _build(self, request: Request, seconds: float) -> httpx.Request:
        return self._http.build_request(
            request.method,
            request.path,
            content=request.body,
            headers=dict(request.headers),
            timeout=seconds,
        )

    async def _exchange(self, request: Request) -> bytes:
        """Sends a request, again after a lost connection: its id makes a repetition harmless."""
        clock = asyncio.get_running_loop()
        backoff, end = Backoff(random.random), clock.time() + self._timeout
        while True:
            problem: Exception
            at_least: str | None = None
            try:
                response = await self._http.send(self._build(request, REQUEST_SECONDS))
                at_least = response.headers.get("Retry-After")
                if response.status_code < 300:
                    return response.content
                read_response(response.status_code, response.content)
            except Rejected as error:
                if not is_temporary(error):
                    raise
                problem = error
            except self._httpx.TransportError as error:
                problem = error
            pause = backoff.next(float(at_least) if at_least and at_least.isdigit() else None)
            await asyncio.sleep(min(pause, max(0.0, end - clock.time())))
            if clock.time() >= end:
                if isinstance(problem, Rejected):
                    raise problem
                raise Unreachable(f"no response from {self._address.origin}") from problem

    async def _send(self, request: Request) -> Any:
        return read_response(200, await self._exchange(request))

    async def _read(self) -> None:
        backoff = Backoff(random.random)
        while True:
            at_least: float | None = None
            try:
                request = self._build(self._requests.events(self._state.cursor), SILENCE_SECONDS)
                response = await self._http.send(request, stream=True)
                async with contextlib.aclosing(response):
                    if response.status_code != 200:
                        read_response(response.status_code, await response.aread())
                    backoff.reset()
                    at_least = await self._follow(response)
            except Rejected as error:
                if backoff.is_final(error):
                    self._error = error
                    self._connected.set()
                    self._changed.set()
                    return
            except (self._httpx.HTTPError, ValueError, OutOfStep):
                pass  # the next attempt resumes
            await asyncio.sleep(backoff.next(at_least))
            self.cuts += 1

    async def _follow(self, response: httpx.Response) -> float | None:
        parser = EventParser()
        async for data in response.aiter_raw():
            for id, frame in parser.feed(data):
                news = self._state.take(id, frame)
                self._changed.set()
                self._connected.set()
                for each in news:
                    self._tell(each)
        return parser.retry_seconds

    def _tell(self, news: Part | Question) -> None:
        try:
            if isinstance(news, Part):
                if self._on_message is not None:
                    self._on_message(news)
            elif self._on_question is not None:
                self._on_question(news)
        except Exception:  # a callback ends only its own work
            traceback.print_exc()
