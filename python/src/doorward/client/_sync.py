"""A client with threads. Standard library only."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import socket
import ssl
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from typing import Any

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

_NETWORK = (OSError, http.client.HTTPException, ValueError, OutOfStep)
_CHECK_SECONDS = 2.0


class Client:
    """A client of one session.

    :param url: Address of the channel, such as ``http://127.0.0.1:18800/pico``.
    :param token: The channel token.
    :param session: Name of the session. Default: a new one.
    :param cursor: ``client.cursor`` of an earlier run: what came since then arrives first.
    :param on_message: Receives each message of the application, whenever it has grown.
    :param on_question: Receives each question when it is open, and when it is settled. Both run
        in the thread of the connection.
    :param timeout: Seconds until a request that the server does not take is given up.
    :param context: TLS settings, for example for an own certificate authority.
    :raises Rejected: the token is wrong, or the channel is off.
    :raises Unreachable: the server did not respond in time.
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
        self.session = session or uuid.uuid4().hex
        self.cuts = 0
        self._address, self._token, self._timeout = Address.of(url), token, timeout
        self._context = context
        self._on_message, self._on_question = on_message, on_question
        self._requests = Requests(self._address, self.session)
        self._state = Conversation(cursor)
        self._changed = threading.Condition()
        self._closed, self._connected = threading.Event(), threading.Event()
        self._error: Exception | None = None
        self._socket: socket.socket | None = None
        threading.Thread(target=self._read, name="doorward-client", daemon=True).start()
        is_in_time = self._connected.wait(timeout)
        if self._error is not None or not is_in_time:
            self.close()
            raise self._error or Unreachable(f"no response from {self._address.origin}")

    @property
    def cursor(self) -> str | None:
        """The position after the last frame. Keep it to continue later."""
        return self._state.cursor

    @property
    def questions(self) -> list[Question]:
        """The open questions, oldest first, also those from before this connection."""
        with self._changed:
            return list(self._state.questions.values())

    def say(self, content: str, *, files: list[str] | None = None) -> str:
        """Sends a message, and returns the text of the answer.

        :raises Failed: the application failed, or the server ended in the middle.
        :raises Rejected: the server rejected the message.
        """
        reply = None
        for each in self.ask(content, files=files):
            reply = each
        assert reply is not None
        if reply.outcome in ("failed", "lost"):
            raise Failed(reply)
        return reply.text

    def ask(
        self,
        content: str,
        *,
        id: str | None = None,
        files: list[str] | None = None,
        replaces: str | None = None,
    ) -> Iterator[Reply]:
        """Sends a message, and yields the reply whenever it has grown. The last has an outcome.

        :param id: Identifies the message: the same id is never answered twice.
        :param files: Ids of uploaded files.
        :param replaces: The id of an earlier message that this one is a new version of.
        """
        reply = Reply(id or uuid.uuid4().hex)
        with self._changed:
            self._state.replies[reply.id] = reply
        request = self._requests.message(reply.id, content, files or (), replaces)
        failures: list[Exception] = []

        def post() -> None:
            try:
                self._send(request)
            except Exception as error:  # raised in the thread of the caller
                failures.append(error)
            with self._changed:
                reply.version += 1
                self._changed.notify_all()

        posting = threading.Thread(target=post, name="doorward-post", daemon=True)
        posting.start()
        try:
            while reply.outcome is None:
                has_changed = self._wait(reply)
                if reply.outcome == "failed":
                    posting.join(_CHECK_SECONDS)  # its response has the words
                if failures and reply.outcome != "completed":
                    settle_rejection(reply, failures[0])
                if reply.is_unsure and (reply.outcome is not None or not has_changed):
                    self._look_up(reply)
                if has_changed or reply.outcome is not None:
                    yield reply
        finally:
            with self._changed:
                self._state.replies.pop(reply.id, None)

    def _wait(self, reply: Reply) -> bool:
        """Waits until the reply has changed, or some time has passed."""
        seen = reply.seen
        with self._changed:
            has_changed = self._changed.wait_for(
                lambda: reply.version != seen or self._error or self._closed.is_set(),
                _CHECK_SECONDS,
            )
            reply.seen = reply.version
        if self._error is not None:
            raise self._error
        if self._closed.is_set():
            raise Unreachable("the client was closed before the answer ended")
        return bool(has_changed)

    def _look_up(self, reply: Reply) -> None:
        turns = self.history(200)
        with self._changed:
            self._state.end_by_history(reply, turns)

    def answer(self, question: Question | str, **given: Any) -> dict[str, Any]:
        """Answers with ``option``, ``options``, ``values``, ``text`` or ``dismiss=True``.

        :returns: ``{"status", "settled"}``. ``status`` is ``already`` if another answer was first;
            ``settled`` then says which.
        :raises Rejected: the question is unknown, or the answer does not fit.
        """
        id = question.id if isinstance(question, Question) else question
        try:
            data: dict[str, Any] = self._send(self._requests.answer(id, given))
            return data
        except Rejected as error:
            return already(error)

    def stop(self, request_id: str | None = None) -> list[dict[str, Any]]:
        """Stops one message, or all of the session. Returns the effect on each."""
        stopped: list[dict[str, Any]] = self._send(self._requests.stop(request_id))["stopped"]
        return stopped

    def history(self, limit: int = 50, before: str | None = None) -> list[dict[str, Any]]:
        """Reads turns of both sides, oldest first, at most 200."""
        turns: list[dict[str, Any]] = self._send(self._requests.history(limit, before))["turns"]
        return turns

    def upload(
        self,
        source: str | os.PathLike[str] | bytes,
        *,
        name: str | None = None,
        content_type: str | None = None,
    ) -> str:
        """Uploads a file, and returns its id for ``files`` of a message."""
        content, name = read_file(source, name)
        return str(self._send(self._requests.upload(content, name, content_type))["id"])

    def fetch(self, url: str) -> bytes:
        """Downloads an attachment, whose ``url`` is a path on this server."""
        return self._exchange(self._requests.fetch(url))

    def close(self) -> None:
        """Closes the connection. Messages that were sent go on."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it is closed already
                self._socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        address = self._address
        if not address.tls:
            return http.client.HTTPConnection(address.host, address.port, timeout=seconds)
        context = self._context or ssl.create_default_context()
        return http.client.HTTPSConnection(
            address.host, address.port, timeout=seconds, context=context
        )

    def _open(self, link: http.client.HTTPConnection, request: Request) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {self._token}", **request.headers}
        link.request(request.method, request.path, request.body, headers)
        return link.getresponse()

    def _exchange(self, request: Request) -> bytes:
        """Sends a request, again after a lost connection: its id makes a repetition harmless."""
        backoff, end = Backoff(random.random), time.monotonic() + self._timeout
        while True:
            problem: Exception
            link = self._connect(REQUEST_SECONDS)
            try:
                response = self._open(link, request)
                body, at_least = response.read(), response.headers.get("Retry-After")
                if response.status < 300:
                    return body
                read_response(response.status, body)
            except Rejected as error:
                if not is_temporary(error):
                    raise
                problem = error
            except (OSError, http.client.HTTPException) as error:
                problem, at_least = error, None
            finally:
                link.close()
            pause = backoff.next(float(at_least) if at_least and at_least.isdigit() else None)
            if self._closed.wait(min(pause, max(0.0, end - time.monotonic()))):
                raise Unreachable("the client is closed") from problem
            if time.monotonic() >= end:
                if isinstance(problem, Rejected):
                    raise problem
                raise Unreachable(f"no response from {self._address.origin}") from problem

    def _send(self, request: Request) -> Any:
        return read_response(200, self._exchange(request))

    def _read(self) -> None:
        backoff = Backoff(random.random)
        while not self._closed.is_set():
            at_least: float | None = None
            link = self._connect(SILENCE_SECONDS)
            try:
                link.connect()
                self._socket = link.sock
                if self._closed.is_set():
                    return
                response = self._open(link, self._requests.events(self._state.cursor))
                if response.status != 200:
                    read_response(response.status, response.read())
                backoff.reset()
                at_least = self._follow(response)
            except Rejected as error:
                if backoff.is_final(error):
                    self._end(error)
                    return
            except _NETWORK:
                pass  # the next attempt resumes
            finally:
                link.close()
            if self._closed.wait(backoff.next(at_least)):
                return
            self.cuts += 1

    def _follow(self, response: http.client.HTTPResponse) -> float | None:
        parser = EventParser()
        while data := response.read1(65_536):
            for id, frame in parser.feed(data):
                with self._changed:
                    news = self._state.take(id, frame)
                    self._changed.notify_all()
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

    def _end(self, error: Exception) -> None:
        self._error = error
        self._connected.set()
        with self._changed:
            self._changed.notify_all()
