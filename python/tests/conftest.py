"""A launcher with a program of Python, and a proxy that cuts connections."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("DOORWARD_ROOT") or Path(__file__).resolve().parents[2])
TOKEN = secrets.token_hex(32)
_LAUNCHER = ROOT / "dist" / "bin" / "doorward.js"


def needs_launcher() -> None:
    """Skips a test without a built Doorward, which is an error under ``CI=true``."""
    if not _LAUNCHER.exists():
        reason = "needs the built launcher: npm run build"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@dataclass
class Launcher:
    """A launcher as a process of its own."""

    home: Path
    program: Path
    port: int = 0
    url: str = ""
    lines: list[str] = field(default_factory=list)
    _process: subprocess.Popen[str] | None = None
    _has_line: threading.Condition = field(default_factory=threading.Condition)

    def start(self) -> None:
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SERVICE")},
            "SERVICE_HOME": str(self.home),
            "SERVICE_LAUNCHER_TOKEN": TOKEN[::-1],
            "SERVICE_CHANNELS_PICO_ENABLED": "true",
            "SERVICE_CHANNELS_PICO_TOKEN": TOKEN,
            "PYTHONPATH": str(ROOT / "python" / "src"),
        }
        options = ["-port", str(self.port), "-console", "-no-browser"]
        command = ["node", str(_LAUNCHER), "run", *options, "--", sys.executable, str(self.program)]
        self._process = subprocess.Popen(
            command,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.program.parent,
        )
        # A process that was killed may have output that is read later.
        self.lines = []
        read = [self._process, self.lines]
        threading.Thread(target=self._read, args=read, daemon=True).start()
        found = self.wait_for(r"http://(?:localhost|127\.0\.0\.1|[\w-]+\.localhost):(\d+)")
        self.port = int(found.group(1))
        self.url = f"http://127.0.0.1:{self.port}/pico"

    def _read(self, process: subprocess.Popen[str], lines: list[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self._has_line:
                lines.append(line)
                self._has_line.notify_all()
        with self._has_line:
            lines.append("(ended)")
            self._has_line.notify_all()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Waits for a line of the log."""

        def find() -> re.Match[str] | None:
            return next(filter(None, (re.search(pattern, each) for each in self.lines)), None)

        with self._has_line:
            self._has_line.wait_for(lambda: find() or "(ended)" in self.lines, 30)
            found = find()
        assert found, "".join(self.lines)
        return found

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(20)
            self._process = None


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[[str | Path], Launcher]]:
    """Starts a launcher with the text or the file of a program."""
    needs_launcher()
    started: list[Launcher] = []

    def start(program: str | Path) -> Launcher:
        if isinstance(program, str):
            text, program = program, tmp_path / "bot.py"
            program.write_text(text, encoding="utf-8")
        home = tmp_path / f"home{len(started)}"
        home.mkdir(mode=0o700)
        launcher = Launcher(home, program)
        started.append(launcher)
        launcher.start()
        return launcher

    yield start
    for each in started:
        each.stop()


class CuttingProxy:
    """Passes on connections, and cuts each one after some bytes of the response."""

    def __init__(self, port: int, cut_after: Callable[[], int | None]) -> None:
        self._target, self._cut_after = port, cut_after
        self.port, self.cuts = 0, 0
        self._loop = asyncio.new_event_loop()
        self._listens = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        self._listens.wait(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._listens.set()
        self._loop.run_forever()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._target)
        left = self._cut_after()
        up = asyncio.create_task(self._pass(reader, up_writer, None))
        if await self._pass(up_reader, writer, left):
            self.cuts += 1
            writer.transport.abort()
            up_writer.transport.abort()
        up.cancel()

    @staticmethod
    async def _pass(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int | None
    ) -> bool:
        with contextlib.suppress(OSError):
            while data := await reader.read(4_096):
                if left is not None and len(data) > left:
                    writer.write(data[:left])
                    await writer.drain()
                    return True
                left = None if left is None else left - len(data)
                writer.write(data)
                await writer.drain()
            writer.close()
        return False

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
