"""``python -m doorward say URL "text"``: one message from the command line."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import __version__
from .client import Client, Failed, Question, Rejected, Unreachable

_TOKEN = "DOORWARD_TOKEN"


def _token(file: str | None) -> str:
    if file is not None:
        return Path(file).read_text(encoding="utf-8").strip()
    token = os.environ.get(_TOKEN)
    if not token:
        sys.exit(f"The channel token is missing. Set {_TOKEN}, or name a file with --token-file.")
    return token


def _show(question: Question) -> None:
    """A question is answered on another device, or in another terminal."""
    if question.state == "open":
        words = question.title or question.content
        print(f"\n? {words}\n  Answer it with: doorward answer {question.id}", file=sys.stderr)


def _say(options: argparse.Namespace) -> int:
    token = _token(options.token_file)
    shown = ""
    with Client(options.url, token, options.session, on_question=_show) as chat:
        for reply in chat.ask(options.text):
            if not reply.text.startswith(shown):
                shown = ""
                print()
            print(reply.text[len(shown) :], end="", flush=True)
            shown = reply.text
        print()
        if reply.outcome != "completed":
            raise Failed(reply)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Runs a command. Exit codes: 0 answered, 1 failed, 2 wrong arguments."""
    parser = argparse.ArgumentParser(prog="python -m doorward")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    say = commands.add_parser("say", help="send a message and print the answer")
    say.add_argument("url", help="address of the channel, such as http://127.0.0.1:18800/pico")
    say.add_argument("text", help="the message")
    say.add_argument("--session", help="name of the session (default: a new one)")
    say.add_argument("--token-file", help=f"file with the channel token (default: ${_TOKEN})")
    try:
        return _say(parser.parse_args(arguments))
    except (Failed, Rejected, Unreachable, ValueError, OSError) as error:
        print(f"{error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
