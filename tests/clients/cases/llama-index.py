# {"client":"LlamaIndex","protocol":"openai","packages":["llama-index-llms-openai-like==0.8.1"],"shows":"OpenAILike(is_chat_model=True)"}
from check import base_url, done, equal, fails, token
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

chat = OpenAILike(api_base=base_url, api_key=token, model="gpt-4o", is_chat_model=True, max_retries=0)
equal("reply", chat.complete("hello").text, "you said hello")
parts = list(chat.stream_chat([ChatMessage(role="user", content="hello")]))
equal("stream", "".join(part.delta for part in parts), "you said hello")
turns = [ChatMessage(role=role, content=text) for role, text in (("user", "a"), ("assistant", "b"), ("user", "history"))]
equal("history", chat.chat(turns).message.content, "before: a, b")
fails("errors", lambda: chat.complete("fail"))
done()
