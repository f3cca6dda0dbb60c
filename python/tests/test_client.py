"""Both clients and a program, with a launcher between them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import TOKEN, CuttingProxy, Launcher

from doorward.client import AsyncClient, Client, Failed, Question, Rejected

Launch = Callable[[str], Launcher]

BOT = """
import asyncio, os, sys
from doorward import agent
print("printed before the start")

@agent
async def reply(message, answer):
    words = message.content
    print("a library that prints")
    if words.startswith("count"):
        for number in range(int(words.split()[1])):
            yield f"wörd{number}😀שלום "
        yield "end"
    elif words.startswith("drip"):
        for number in range(int(words.split()[1])):
            yield f"{number} Grüße 👩‍👩‍👧 שלום عليكم\\n"
            await asyncio.sleep(0.002)
    elif words == "ask":
        allowed = await answer.allow("Delete 3 files?", title="rm -r build")
        yield f"{bool(allowed)} {allowed.via}"
    elif words == "crash":
        yield "before. "
        raise ValueError("no")
    elif words == "slow":
        for number in range(400):
            yield f"{number} "
            await asyncio.sleep(0.02)
    elif words == "file":
        answer.file(b"a,b\\n", name="table.csv", content_type="text/csv", text="here")
    elif words == "read":
        yield message.files[0].read().decode()
    elif words == "remember":
        message.state["n"] = message.state.get("n", 0) + 1
        yield str(message.state["n"])
    elif words == "history":
        yield (await answer.history())[0]["content"]
    else:
        yield "you said " + words
"""


@pytest.fixture(params=["Client", "AsyncClient"])
def say(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Sends a message with one of the clients, and returns its text and its lost connections."""

    def with_threads(url: str, text: str) -> tuple[str, int]:
        with Client(url, TOKEN) as chat:
            return chat.say(text), chat.cuts

    def with_loop(url: str, text: str) -> tuple[str, int]:
        async def run() -> tuple[str, int]:
            async with AsyncClient(url, TOKEN) as chat:
                return await chat.say(text), chat.cuts

        return asyncio.run(run())

    return with_threads if request.param == "Client" else with_loop


def test_answers_and_reports_errors(launch: Launch, say: Callable[..., Any]) -> None:
    launcher = launch(BOT)
    assert say(launcher.url, "hello")[0] == "you said hello"
    with pytest.raises(Failed) as failure:
        say(launcher.url, "crash")
    assert failure.value.reply.text == "before. "


def test_loses_no_piece_of_an_answer_over_cuts(launch: Launch, say: Callable[..., Any]) -> None:
    launcher = launch(BOT)
    numbers = random.Random(7)
    cuts: Iterator[int | None] = (numbers.randrange(500, 60_000) for _ in range(20))
    proxy = CuttingProxy(launcher.port, lambda: next(cuts, None))
    text, lost = say(f"http://127.0.0.1:{proxy.port}/pico", "count 4000")
    assert text == "".join(f"wörd{number}😀שלום " for number in range(4000)) + "end"
    assert lost > 0
    proxy.close()


# LONG=full: 20 answers of 4,000 pieces over 20 cuts each.
ANSWERS, PIECES, CUTS = (20, 4_000, 20) if os.environ.get("LONG") == "full" else (2, 400, 2)


def _drip(launcher: Launcher, say: Callable[..., Any], seed: int) -> bytes:
    numbers = random.Random(seed)

    def cut_after() -> int | None:
        # The bytes of an answer are more than those of all cuts.
        return numbers.randrange(1_000, 8_000) if proxy.cuts < CUTS else None

    proxy = CuttingProxy(launcher.port, cut_after)
    text, _ = say(f"http://127.0.0.1:{proxy.port}/pico", f"drip {PIECES}")
    assert proxy.cuts >= CUTS
    proxy.close()
    return bytes(text, "utf-8")


def test_joins_the_same_bytes_over_many_cuts(launch: Launch, say: Callable[..., Any]) -> None:
    pieces = (f"{number} Grüße 👩‍👩‍👧 שלום عليكم\n" for number in range(PIECES))
    launcher, expected = launch(BOT), "".join(pieces).encode()
    with concurrent.futures.ThreadPoolExecutor(ANSWERS) as pool:
        answers = pool.map(lambda seed: _drip(launcher, say, seed), range(ANSWERS))
        assert [text == expected for text in answers] == [True] * ANSWERS


def test_rejects_a_wrong_token(launch: Launch) -> None:
    launcher = launch(BOT)
    wrong = TOKEN.replace(TOKEN[0], "x")
    with pytest.raises(Rejected) as rejection:
        Client(launcher.url, wrong)
    assert rejection.value.status == 401
    assert wrong not in str(rejection.value)

    async def run() -> None:
        async with AsyncClient(launcher.url, wrong):
            pass

    with pytest.raises(Rejected):
        asyncio.run(run())


@pytest.mark.parametrize("url", ["127.0.0.1:1/pico", "http://h/pico?token=x", "http://u:p@h/pico"])
def test_rejects_an_address_that_is_no_channel(url: str) -> None:
    with pytest.raises(ValueError, match="url must"):
        Client(url, TOKEN)


def test_shows_a_question_and_answers_it(launch: Launch) -> None:
    launcher = launch(BOT)
    opened: list[Question] = []
    has_news = threading.Condition()

    def note(question: Question) -> None:
        with has_news:
            opened.append(question)
            has_news.notify_all()

    with Client(launcher.url, TOKEN, on_question=note) as chat:
        texts: list[str] = []
        asking = threading.Thread(target=lambda: texts.append(chat.say("ask")))
        asking.start()
        with has_news:
            assert has_news.wait_for(lambda: opened, 20)
        question = opened[0]
        assert (question.title, question.state) == ("rm -r build", "open")
        option = next(each["id"] for each in question.options if each.get("effect") == "allow")
        assert chat.answer(question, option=option)["status"] == "settled"
        assert chat.answer(question, option=option)["status"] == "already"
        asking.join(20)
        assert texts == ["True pico"]
        with has_news:
            assert has_news.wait_for(lambda: len(opened) == 2, 20)
        assert opened[1].state == "settled"
        assert chat.questions == []


def test_stops_an_answer(launch: Launch) -> None:
    launcher = launch(BOT)
    with Client(launcher.url, TOKEN) as chat:
        reply = None
        for reply in chat.ask("slow"):
            if reply.outcome is None and "3 " in reply.text:
                chat.stop(reply.id)
        assert reply is not None
        assert reply.outcome == "stopped"
        assert "399" not in reply.text


def test_carries_files_both_ways(launch: Launch) -> None:
    launcher = launch(BOT)
    with Client(launcher.url, TOKEN) as chat:
        file = chat.upload(b"inside", name="wörter.txt", content_type="text/plain")
        assert chat.say("read", files=[file]) == "inside"
        *_, reply = chat.ask("file")
        attachment = next(part for part in reply.parts.values() if part.attachments).attachments[0]
        assert attachment["filename"] == "table.csv"
        assert chat.fetch(attachment["url"]) == b"a,b\n"


def test_reads_the_history_on_both_sides(launch: Launch) -> None:
    launcher = launch(BOT)
    with Client(launcher.url, TOKEN) as chat:
        chat.say("hello")
        assert chat.say("history") == "hello"
        assert [turn["content"] for turn in chat.history()][:2] == ["hello", "you said hello"]


def test_continues_at_a_saved_cursor(launch: Launch) -> None:
    launcher = launch(BOT)
    with Client(launcher.url, TOKEN, "ann") as chat:
        chat.say("one")
        cursor = chat.cursor
        chat.say("two")
    seen: list[str] = []
    has_both = threading.Event()

    def note(part: Any) -> None:
        seen.append(part.text)
        if part.text == "you said two":
            has_both.set()

    with Client(launcher.url, TOKEN, "ann", cursor=cursor, on_message=note):
        assert has_both.wait(20)
    assert "you said one" not in seen


def test_ends_with_the_words_of_a_restart(launch: Launch) -> None:
    launcher = launch(BOT)
    with Client(launcher.url, TOKEN, "ann") as chat:
        reply = None
        for reply in chat.ask("slow"):
            if reply.outcome is None and "3 " in reply.text and chat.cuts == 0:
                launcher.kill()
                launcher.start()
        assert reply is not None
        assert reply.outcome in ("lost", "stopped")
        assert chat.say("again") == "you said again"
