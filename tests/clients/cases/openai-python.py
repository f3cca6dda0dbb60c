# {"client":"openai (Python)","protocol":"openai","packages":["openai==3.54.0"]}
from check import base_url, done, equal, fails, is_stopped, token
from openai import OpenAI

client = OpenAI(base_url=base_url, api_key=token, max_retries=0)


def user(content):
    return {"role": "user", "content": content}


def ask(content, **more):
    options = {"model": "gpt-4o", "messages": [user(content)], **more}
    return client.chat.completions.create(**options)


whole = ask("hello")
equal("reply", whole.choices[0].message.content, "you said hello")
equal("usage", whole.usage.total_tokens, 0)
parts = [chunk.choices[0].delta.content or "" for chunk in ask("hello", stream=True)]
equal("stream", "".join(parts), "you said hello")
turns = [user("a"), {"role": "assistant", "content": "b"}, user("history")]
equal("history", ask("", messages=turns).choices[0].message.content, "before: a, b")
fails("errors", lambda: ask("fail"))
slow = ask("slow", stream=True)
for chunk in slow:
    if chunk.choices[0].delta.content:
        break
slow.close()
equal("stop", is_stopped(), True)
response = client.responses.create(model="gpt-4o", input="hello")
equal("responses", response.output_text, "you said hello")
done()
