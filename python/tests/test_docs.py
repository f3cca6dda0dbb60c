"""The programs of docs/python.md and of `doorward new`."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT, TOKEN, Launcher

from doorward.testing import talk

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)
AGENTS = [block for block in BLOCKS if "@agent" in block]


def _run(code: str, name: str, **names: Any) -> dict[str, Any]:
    module = ModuleType(name)
    module.__dict__.update(names)
    exec(compile(code, "docs/python.md", "exec"), module.__dict__)
    return module.__dict__


def test_page_has_the_expected_blocks() -> None:
    assert (len(BLOCKS), len(AGENTS)) == (4, 2)


def test_first_agent_answers() -> None:
    assert talk(_run(AGENTS[0], "bot")["reply"], "hello").text == "you said hello"


@pytest.mark.parametrize(("effect", "words"), [("allow", "deployed"), ("deny", "kept")])
def test_later_question_is_answered(tmp_path: Path, effect: str, words: str) -> None:
    reply = _run(AGENTS[1], "bot")["reply"]
    asked = talk(reply, "the site", state_folder=str(tmp_path))
    assert asked.questions[0]["durable"] == "deploy"
    answer = {"key": "deploy", "outcome": "answered", "effect": effect}
    said = talk(reply, "", answer=answer, state_folder=str(tmp_path))
    assert said.text == f"the site: {words}"


def test_test_of_the_page_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def reply(message: Any, answer: Any) -> str:
        name = message.content.removeprefix("delete ")
        return "Deleted." if await answer.allow(f"Delete {name}?") else "Kept."

    bot = ModuleType("bot")
    bot.__dict__["reply"] = reply
    monkeypatch.setitem(sys.modules, "bot", bot)
    block = next(block for block in BLOCKS if "doorward.testing" in block)
    _run(block, "test_bot")["test_asks_before_it_deletes"]()


def test_client_of_the_page_talks(launch: Callable[[str], Launcher]) -> None:
    launcher = launch(AGENTS[0])
    block = next(block for block in BLOCKS if "doorward.client" in block)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        _run(block.replace("http://127.0.0.1:18800/pico", launcher.url), "client", token=TOKEN)
    assert out.getvalue().startswith("you said hello\n")
