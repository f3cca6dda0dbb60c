"""pydantic-ai behind Doorward: a deferred tool is a question that outlives the program."""

import pydantic_ai as ai
from pydantic_ai.messages import ModelMessagesTypeAdapter, repair_messages

from doorward import agent

bot = ai.Agent("openai-chat:gpt-5-mini", output_type=[str, ai.DeferredToolRequests])


@bot.tool_plain(requires_approval=True)
def delete_folder(folder: str) -> str:
    """Deletes a folder."""
    return f"deleted {folder}"


@agent
async def reply(message, answer):
    state, said = message.state, None
    if message.answer:
        state["given"] = given = state["given"] | {message.answer.key: message.answer.allowed}
        if len(given) < state["asked"]:
            return  # the other questions are still open
        said = ai.DeferredToolResults(approvals=given)
    text = None if said else message.content
    past = ModelMessagesTypeAdapter.validate_json(state.get("turns", "[]"))
    past = repair_messages(past) if text else past  # the person goes on without an answer
    async with bot.run_stream_events(text, message_history=past, deferred_tool_results=said) as run:
        async for event in run:
            match event:
                case ai.PartStartEvent(part=ai.TextPart(content=text)):
                    yield text
                case ai.PartDeltaEvent(delta=ai.TextPartDelta(content_delta=text)):
                    yield text
                case ai.AgentRunResultEvent(result=result):
                    calls = getattr(result.output, "approvals", ())
    state["turns"] = result.all_messages_json().decode()
    state["given"], state["asked"] = {}, len(calls)
    for call in calls:
        answer.ask_later(call.tool_call_id, f"{call.tool_name} {call.args}")
