"""The agents of examples/ behind a launcher, with the real frameworks and a fake model."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, TOKEN, Launcher
from fake_model import start_fake_model

from doorward.client import Client, Question, Reply

EXAMPLES = ROOT / "python" / "examples"
AGENTS = {
    "langgraph_agent": "langgraph.checkpoint.sqlite",
    "pydantic_ai_agent": "pydantic_ai",
    "openai_agents_agent": "agents",
}


def _needs(module: str) -> None:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        reason = f"needs the package of {module}: pip install -r python/tests/frameworks.txt"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


class Questions:
    """Waits for questions of a client."""

    def __init__(self) -> None:
        self._has_news, self._seen = threading.Condition(), list[Question]()

    def note(self, question: Question) -> None:
        with self._has_news:
            self._seen.append(question)
            self._has_news.notify_all()

    def next(self, state: str) -> Question:
        def find() -> Question | None:
            return next((each for each in self._seen if each.state == state), None)

        with self._has_news:
            assert self._has_news.wait_for(find, 60)
            found = find()
            assert found is not None
            self._seen.remove(found)
        return found


@pytest.mark.parametrize("name", AGENTS)
def test_examples_have_at_most_40_lines(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 40


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize(("effect", "words"), [("allow", "deleted build"), ("deny", "")])
def test_agent_is_answered_after_a_kill(
    launch: Callable[[Path], Launcher],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    effect: str,
    words: str,
) -> None:
    _needs(AGENTS[name])
    url, model = start_fake_model()
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    launcher = launch(EXAMPLES / f"{name}.py")
    questions, ended = Questions(), threading.Event()
    texts: list[str] = []

    def note(part: object) -> None:
        text = getattr(part, "text", "")
        texts.append(text)
        if "The tool:" in text and getattr(part, "is_final", False):
            ended.set()

    with Client(
        launcher.url, TOKEN, "ann", on_message=note, on_question=questions.note, timeout=90
    ) as chat:
        growing = [reply.text for reply in chat.ask("hello")]
        assert growing[-1].strip() == "you said hello"
        chat.say("delete it")
        question = questions.next("open")
        launcher.kill()
        launcher.start()
        option = next(each["id"] for each in question.options if each.get("effect") == effect)
        assert chat.answer(question, option=option)["status"] == "settled"
        assert ended.wait(60)
        assert words in next(text for text in reversed(texts) if "The tool:" in text)
    model.shutdown()


@pytest.mark.parametrize("name", AGENTS)
def test_agent_stops(
    launch: Callable[[Path], Launcher], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _needs(AGENTS[name])
    url, model = start_fake_model()
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    launcher = launch(EXAMPLES / f"{name}.py")
    with Client(launcher.url, TOKEN, "ann", timeout=90) as chat:
        last: Reply | None = None
        for reply in chat.ask("slow"):
            if reply.outcome is None and "3 " in reply.text:
                chat.stop(reply.id)
            last = reply
        assert last is not None
        assert last.outcome == "stopped"
        assert chat.say("hello").strip() == "you said hello"
    model.shutdown()
