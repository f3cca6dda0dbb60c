"""Clients of a Doorward channel over plain HTTP: server-sent events and posts, one cursor.

>>> from doorward.client import Client
>>> with Client("http://127.0.0.1:18800/pico", token) as chat:
...     print(chat.say("hello"))

A lost connection is repeated, and no piece of an answer is lost or shown twice. ``AsyncClient``
is the same for asyncio, and needs ``httpx``: ``pip install doorward[async]``.
"""

from ._async import AsyncClient
from ._core import Answer, Failed, Part, Question, Rejected, Reply, Unreachable
from ._sync import Client

__all__ = [
    "Answer",
    "AsyncClient",
    "Client",
    "Failed",
    "Part",
    "Question",
    "Rejected",
    "Reply",
    "Unreachable",
]
