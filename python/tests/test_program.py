"""Handlers of each kind, without Doorward."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from doorward import Answer, BlockingAnswer, Message, Refused
from doorward.testing import talk


async def texts(message: Message, answer: Answer) -> Any:
    yield "you "
    yield f"said {message.content}"


async def coroutine(message: Message) -> str:
    return f"you said {message.content}"


def generator(message: Message) -> Any:
    yield "you "
    yield f"said {message.content}"


def plain(message: Message) -> str:
    return f"you said {message.content}"


@pytest.mark.parametrize("handler", [texts, coroutine, generator, plain])
def test_runs_each_kind_of_function(handler: Any) -> None:
    done = talk(handler, "hello")
    assert done.text == "you said hello"
    assert [line["type"] for line in done.lines][:2] == ["ready", "message.ack"]
    assert done.lines[-1]["type"] == "message.ack"
    assert done.end["final"] is True


def test_reports_an_exception_with_its_type() -> None:
    async def fails(message: Message) -> None:
        raise ValueError("no")

    assert talk(fails, "x").error == "ValueError: no"


def test_rejects_a_text_that_is_no_str() -> None:
    async def number(message: Message) -> Any:
        yield 7

    assert talk(number, "x").error == "TypeError: the text of an answer is a str, not int"


def test_closes_a_text_before_something_else_follows() -> None:
    async def mixed(message: Message, answer: Answer) -> Any:
        answer.think("hm")
        yield "one"
        answer.tool("search", {"q": 1})("3 hits")
        yield "two"

    done = talk(mixed, "x")
    assert [(part.kind, part.text) for part in done.parts] == [
        ("thought", "hm"),
        (None, "one"),
        ("tool_calls", "search"),
        (None, "two"),
    ]
    assert done.parts[2].tool_calls[0]["result"] == "3 hits"


def test_fails_the_steps_that_no_handler_has_completed() -> None:
    async def leaves(message: Message, answer: Answer) -> None:
        answer.tool("search")

    assert talk(leaves, "x").parts[0].tool_calls[0]["state"] == "failed"


async def asks(message: Message, answer: Answer) -> str:
    step = answer.tool("rm", {"path": "build"}, state="pending")
    allowed = await answer.allow("Delete?", tool=step)
    step("deleted") if allowed else step(error="denied")
    return f"{bool(allowed)} {allowed.outcome}"


def asks_plainly(message: Message, answer: BlockingAnswer) -> str:
    allowed = answer.allow("Delete?")
    return f"{bool(allowed)} {allowed.outcome}"


@pytest.mark.parametrize("handler", [asks, asks_plainly])
@pytest.mark.parametrize(
    ("reply", "text"),
    [(True, "True answered"), (False, "False answered"), (None, "False dismissed")],
)
def test_waits_for_an_approval(handler: Any, reply: bool | None, text: str) -> None:
    done = talk(handler, "x", replies=[reply])
    assert done.text == text
    assert done.questions[0]["kind"] == "approval"


def test_names_the_step_of_a_question() -> None:
    done = talk(asks, "x", replies=[True])
    assert done.questions[0]["tool_call_id"] == done.parts[0].tool_calls[0]["id"]


def test_returns_the_chosen_texts() -> None:
    long = "x" * 70

    async def chooses(message: Message, answer: Answer) -> str:
        one = await answer.choose("Which?", ["red", "green"])
        second = await answer.choose("Which?", ["red", long])
        many = await answer.choose("Which?", ["a", "b", "c"], multiple=True)
        none = await answer.choose("Which?", ["a"])
        return f"{one} {second == long} {many} {none}"

    done = talk(chooses, "x", replies=["green", "2", ["a", "c"], None])
    assert done.text == "green True ['a', 'c'] None"


def test_returns_the_values_of_a_form() -> None:
    async def form(message: Message, answer: Answer) -> str:
        values = await answer.form("Where?", {"city": str, "nights": int})
        return str(values)

    done = talk(form, "x", replies=[{"city": "Rome", "nights": 2}])
    assert done.text == "{'city': 'Rome', 'nights': 2}"
    assert done.questions[0]["schema"]["properties"]["nights"] == {"type": "integer"}


def test_keeps_the_state_of_a_conversation(tmp_path: Path) -> None:
    async def counts(message: Message) -> str:
        message.state["n"] = message.state.get("n", 0) + 1
        return str(message.state["n"])

    state = str(tmp_path)
    assert [talk(counts, "x", state_folder=state).text for _ in range(3)] == ["1", "2", "3"]
    assert talk(counts, "x", session="other", state_folder=state).text == "1"


def test_stores_the_state_before_a_later_question(tmp_path: Path) -> None:
    async def later(message: Message, answer: Answer) -> str:
        if message.answer:
            return f"{message.state['what']} {message.answer.key}"
        message.state["what"] = "deploy"
        answer.ask_later("k1", "Deploy?")
        raise ValueError("after the question")

    state = str(tmp_path)
    assert talk(later, "x", state_folder=state).questions[0]["durable"] == "k1"
    answer = {"key": "k1", "outcome": "answered", "option": "allow", "effect": "allow"}
    assert talk(later, "", answer=answer, state_folder=state).text == "deploy k1"


def test_fails_an_answer_whose_state_is_not_json() -> None:
    async def wrong(message: Message) -> None:
        message.state["x"] = object()

    error = talk(wrong, "x").error
    assert error is not None
    assert error.startswith("TypeError: message.state holds JSON values only")


def test_reads_files_and_sends_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one")

    async def files(message: Message, answer: Answer) -> str:
        answer.file(b"two", name="b.txt", content_type="text/plain")
        return ",".join(each.read().decode() for each in message.files)

    media = [{"path": str(tmp_path / "a.txt"), "filename": "a.txt"}, "data:text/plain;base64,dHdv"]
    done = talk(files, "x", media=media)
    assert done.text == "one,two"
    assert done.parts[0].attachments[0]["filename"] == "b.txt"


def test_reads_earlier_turns() -> None:
    def reads(message: Message, answer: BlockingAnswer) -> str:
        return str([turn["content"] for turn in answer.history(2)])

    turns = [{"content": "a"}, {"content": "b"}, {"content": "c"}]
    assert talk(reads, "x", history=turns).text == "['b', 'c']"


def test_withdraws_a_question_whose_time_is_over_in_the_handler() -> None:
    async def impatient(message: Message, answer: Answer) -> str:
        try:
            await asyncio.wait_for(answer.allow("Now?", durable=None), 0)
        except asyncio.TimeoutError:
            return "too late"
        return "in time"

    assert talk(impatient, "x").text == "too late"


def test_has_no_files_without_a_folder() -> None:
    error = Refused("invalid_question", '"options" is missing')
    assert (error.code, str(error)) == ("invalid_question", '"options" is missing')
