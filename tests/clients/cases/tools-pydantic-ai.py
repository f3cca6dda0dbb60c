# {"client":"pydantic-ai (tools)","protocol":"openai","application":"tools.py","packages":["pydantic-ai-slim[openai]==2.68.0"]}
from check import base_url, done, equal, token
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider


def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


provider = OpenAIProvider(base_url=base_url, api_key=token)
models = {"tools": OpenAIChatModel, "tools of responses": OpenAIResponsesModel}
for what, model in models.items():
    agent = Agent(model("doorward", provider=provider), tools=[weather])
    result = agent.run_sync("Rome")
    equal(what, result.output, "The client says: sunny in Rome")
    again = agent.run_sync("Oslo", message_history=result.all_messages())
    equal(what, again.output, "The client says: sunny in Oslo")
done()
