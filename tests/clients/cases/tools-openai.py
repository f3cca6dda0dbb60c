# {"client":"openai (Python, tools)","protocol":"openai","application":"tools.py","packages":["openai==3.54.0"]}
from check import base_url, done, equal, token
from openai import OpenAI

client = OpenAI(base_url=base_url, api_key=token, max_retries=0)
parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
messages = [{"role": "user", "content": "Rome"}]


def ask(**more):
    return client.chat.completions.create(model="doorward", messages=messages, tools=tools, **more)


with client.chat.completions.stream(model="doorward", messages=messages, tools=tools) as stream:
    streamed = stream.get_final_completion().choices[0]
equal("streamed tools", streamed.finish_reason, "tool_calls")
equal("streamed tools", streamed.message.tool_calls[0].function.arguments, '{"city": "Rome"}')
choice = ask().choices[0]
call = choice.message.tool_calls[0]
equal("tools", [choice.finish_reason, call.function.name], ["tool_calls", "weather"])
messages.append(choice.message)
messages.append({"role": "tool", "tool_call_id": call.id, "content": "sunny"})
equal("tools", ask().choices[0].message.content, "The client says: sunny")
done()
