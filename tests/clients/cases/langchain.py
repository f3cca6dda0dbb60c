# {"client":"LangChain (Python)","protocol":"openai","packages":["langchain-openai==1.7.4"]}
from check import base_url, done, equal, fails, token
from langchain_openai import ChatOpenAI

chat = ChatOpenAI(base_url=base_url, api_key=token, model="gpt-4o", max_retries=0)
equal("reply", chat.invoke("hello").content, "you said hello")
equal("stream", "".join(part.content for part in chat.stream("hello")), "you said hello")
equal("history", chat.invoke([("user", "a"), ("ai", "b"), ("user", "history")]).content, "before: a, b")
fails("errors", lambda: chat.invoke("fail"))
done()
