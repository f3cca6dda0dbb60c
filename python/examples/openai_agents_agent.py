"""The OpenAI Agents SDK behind Doorward: `needs_approval` is a question that outlives us."""

import agents

from doorward import agent

agents.set_default_openai_api("chat_completions")
agents.set_tracing_disabled(True)


@agents.function_tool(needs_approval=True)
def delete_folder(folder: str) -> str:
    """Deletes a folder."""
    return f"deleted {folder}"


bot = agents.Agent("bot", model="gpt-5-mini", tools=[delete_folder])


@agent
async def reply(message, answer):
    state = message.state
    given = [*state.get("turns", []), {"role": "user", "content": message.content}]
    if message.answer:
        given = await agents.RunState.from_string(bot, state["run"])
        items = {each.call_id: each for each in given.get_interruptions()}
        decide = given.approve if message.answer.allowed else given.reject
        decide(items[message.answer.key])
    run = agents.Runner.run_streamed(bot, given)
    async for event in run.stream_events():
        if getattr(getattr(event, "data", None), "type", "") == "response.output_text.delta":
            yield event.data.delta
    state["turns"] = run.to_input_list()
    state["run"] = run.to_state().to_string() if run.interruptions else None
    asked = state.get("asked", []) if message.answer else []
    for each in run.interruptions:
        if each.call_id not in asked:
            answer.ask_later(each.call_id, f"{each.name} {each.arguments}")
    state["asked"] = [each.call_id for each in run.interruptions]
