# {"client":"haystack","protocol":"openai","packages":["haystack-ai==3.4.1"]}
import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
from check import base_url, done, equal, fails, token  # noqa: E402
from haystack.components.generators.chat import OpenAIChatGenerator  # noqa: E402
from haystack.dataclasses import ChatMessage  # noqa: E402
from haystack.utils import Secret  # noqa: E402

parts = []
options = {"api_key": Secret.from_token(token), "api_base_url": base_url, "model": "gpt-4o", "max_retries": 0}
chat = OpenAIChatGenerator(**options)
equal("reply", chat.run([ChatMessage.from_user("hello")])["replies"][0].text, "you said hello")
stream = OpenAIChatGenerator(**options, streaming_callback=lambda part: parts.append(part.content or ""))
stream.run([ChatMessage.from_user("hello")])
equal("stream", "".join(parts), "you said hello")
turns = [ChatMessage.from_user("a"), ChatMessage.from_assistant("b"), ChatMessage.from_user("history")]
equal("history", chat.run(turns)["replies"][0].text, "before: a, b")
fails("errors", lambda: chat.run([ChatMessage.from_user("fail")]))
done()
