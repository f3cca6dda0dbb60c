# {"client":"AutoGen","protocol":"openai","application":"tools.py","packages":["autogen-agentchat==0.7.5","autogen-ext[openai]==0.7.5"],"shows":"model_info with function_calling"}
import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from check import base_url, done, equal, token


async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


async def main():
    info = {"function_calling": True, "json_output": False, "vision": False, "family": "unknown"}
    info["structured_output"] = False
    client = OpenAIChatCompletionClient(model="doorward", base_url=base_url, api_key=token, model_info=info)
    agent = AssistantAgent("assistant", client, tools=[weather], reflect_on_tool_use=True)
    result = await agent.run(task="Rome")
    equal("tools", result.messages[-1].content, "The client says: sunny in Rome")


asyncio.run(main())
done()
