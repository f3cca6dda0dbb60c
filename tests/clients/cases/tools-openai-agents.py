# {"client":"OpenAI Agents SDK (Python, tools)","protocol":"openai","application":"tools.py","packages":["openai-agents==0.24.0"]}
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner
from agents import function_tool, set_tracing_disabled
from check import base_url, done, equal, token
from openai import AsyncOpenAI

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=base_url, api_key=token, max_retries=0)


@function_tool
def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


models = {"tools": OpenAIChatCompletionsModel, "tools of responses": OpenAIResponsesModel}
for what, model in models.items():
    agent = Agent(name="door", model=model("doorward", client), tools=[weather])
    first = Runner.run_sync(agent, "Rome")
    equal(what, first.final_output, "The client says: sunny in Rome")
    turns = [*first.to_input_list(), {"role": "user", "content": "Oslo"}]
    equal(what, Runner.run_sync(agent, turns).final_output, "The client says: sunny in Oslo")
done()
