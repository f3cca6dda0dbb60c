# {"client":"OpenAI Agents SDK (Python)","protocol":"openai","packages":["openai-agents==0.24.0"]}
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from check import base_url, done, equal, fails, token
from openai import AsyncOpenAI

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=base_url, api_key=token, max_retries=0)
agent = Agent(name="door", model=OpenAIChatCompletionsModel(model="gpt-4o", openai_client=client))
first = Runner.run_sync(agent, "hello")
equal("reply", first.final_output, "you said hello")
turns = [*first.to_input_list(), {"role": "user", "content": "history"}]
equal("history", Runner.run_sync(agent, turns).final_output, "before: hello, you said hello")
fails("errors", lambda: Runner.run_sync(agent, "fail"))
done()
