# {"client":"LiteLLM","protocol":"openai","packages":["litellm==1.110.2"],"shows":"model \"openai/NAME\""}
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
from check import base_url, done, equal, fails, token  # noqa: E402
import litellm  # noqa: E402


def ask(*turns, **more):
    messages = [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(turns)]
    options = {"api_base": base_url, "api_key": token, "num_retries": 0, **more}
    return litellm.completion(model="openai/gpt-4o", messages=messages, **options)


equal("reply", ask("hello").choices[0].message.content, "you said hello")
parts = [part.choices[0].delta.content or "" for part in ask("hello", stream=True)]
equal("stream", "".join(parts), "you said hello")
equal("history", ask("a", "b", "history").choices[0].message.content, "before: a, b")
fails("errors", lambda: ask("fail"))
done()
