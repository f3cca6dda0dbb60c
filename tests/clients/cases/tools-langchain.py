# {"client":"LangChain (Python, tools)","protocol":"openai","application":"tools.py","packages":["langchain-openai==1.7.4"]}
from check import base_url, done, equal, token
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


def converse(what, **options):
    chat = ChatOpenAI(base_url=base_url, api_key=token, model="doorward", max_retries=0, **options)
    bound = chat.bind_tools([weather])
    messages = [HumanMessage("Rome")]
    for _ in range(2):
        answer = bound.invoke(messages)
        messages.append(answer)
        messages.extend(weather.invoke(call) for call in answer.tool_calls)
    equal(what, messages[-1].text, "The client says: sunny in Rome")


converse("tools")
converse("streamed tools", streaming=True)
converse("tools of responses", use_responses_api=True)
done()
