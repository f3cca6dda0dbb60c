# {"client":"smolagents","protocol":"openai","packages":["smolagents[openai]==1.26.0"]}
from check import base_url, done, equal, token
from smolagents import ChatMessage, OpenAIServerModel

model = OpenAIServerModel(model_id="gpt-4o", api_base=base_url, api_key=token)
message = ChatMessage(role="user", content=[{"type": "text", "text": "hello"}])
reply = model.generate([message])
equal("reply", reply.content, "you said hello")
equal("usage", reply.token_usage.total_tokens, 0)
parts = list(model.generate_stream([message]))
equal("stream", "".join(part.content or "" for part in parts), "you said hello")
done()
