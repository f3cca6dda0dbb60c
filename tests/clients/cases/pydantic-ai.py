# {"client":"pydantic-ai","protocol":"openai","packages":["pydantic-ai-slim[openai]==2.68.0"]}
from check import base_url, done, equal, fails, token
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=base_url, api_key=token))
agent = Agent(model)
first = agent.run_sync("hello")
equal("reply", first.output, "you said hello")
again = agent.run_sync("history", message_history=first.all_messages())
equal("history", again.output, "before: hello, you said hello")
fails("errors", lambda: agent.run_sync("fail"))
done()
