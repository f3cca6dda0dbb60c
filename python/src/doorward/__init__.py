"""An agent behind Doorward: a function that reads a message and writes its answer.

>>> from doorward import agent
>>> @agent
... async def reply(message, answer):
...     yield "you said " + message.content

Doorward runs the file: ``doorward run -- python3 bot.py``. Clients of Doorward are in
``doorward.client``, and ``doorward.testing`` runs a handler without Doorward.
"""

from ._agent import agent, send, status
from ._answer import Answer, BlockingAnswer, Step
from ._message import Answered, File, Message, Refused, Settled, Stopped, Turns

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Answered",
    "BlockingAnswer",
    "File",
    "Message",
    "Refused",
    "Settled",
    "Step",
    "Stopped",
    "Turns",
    "agent",
    "send",
    "status",
]
