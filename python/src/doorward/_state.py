"""What a handler keeps of one conversation, as a JSON file in ``DOORWARD_STATE``."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, MutableMapping
from typing import Any

_MAX_BYTES = 16 * 1024 * 1024


class State(MutableMapping[str, Any]):
    """A dictionary of JSON values. It is read when it is first used, and written as a whole.

    Without ``DOORWARD_STATE`` (an older Doorward, or a test), it lasts as long as the message.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        channel: str = "",
        session: str = "",
    ) -> None:
        name = hashlib.sha256(json.dumps([channel, session]).encode()).hexdigest()
        self._path = None if folder is None else os.path.join(folder, f"{name}.json")
        self._values: dict[str, Any] | None = None
        self._stored = "{}"

    def _load(self) -> dict[str, Any]:
        if self._values is None:
            self._values = {}
            if self._path is not None and os.path.exists(self._path):
                with open(self._path, encoding="utf-8") as file:
                    self._values = json.load(file)
                self._stored = self._text()
        return self._values

    def _text(self) -> str:
        try:
            return json.dumps(self._values, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise TypeError(f"message.state holds JSON values only: {error}") from error

    def save(self) -> None:
        """Writes the file, if a value has changed. A crash leaves the old or the new one.

        :raises TypeError: a value is not JSON.
        :raises ValueError: the values have more than 16 MiB.
        """
        if self._values is None:
            return
        text = self._text()
        if len(text) > _MAX_BYTES:
            raise ValueError("message.state has more than 16 MiB")
        if self._path is None or text == self._stored:
            return
        folder = os.path.dirname(self._path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path)
        except BaseException:
            os.unlink(name)
            raise
        self._stored = text

    def __getitem__(self, key: str) -> Any:
        return self._load()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._load()[key] = value

    def __delitem__(self, key: str) -> None:
        del self._load()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())
