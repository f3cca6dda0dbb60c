"""LangGraph behind Doorward: an interrupt is a question, and the thread is the conversation."""

import os
import sqlite3

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from doorward import agent


@tool
def delete_folder(folder: str) -> str:
    """Deletes a folder."""
    return f"deleted {folder}" if interrupt(f"Delete {folder}?") else "a person said no"


model = ChatOpenAI(model="gpt-5-mini").bind_tools([delete_folder])
graph = StateGraph(MessagesState).add_edge(START, "model").add_edge("tools", "model")
graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
graph.add_node("tools", ToolNode([delete_folder])).add_conditional_edges("model", tools_condition)
threads = sqlite3.connect(os.environ["DOORWARD_STATE"] + "/graph.db", check_same_thread=False)
app = graph.compile(SqliteSaver(threads))


@agent
def reply(message, answer):
    said, given = message.answer, {"messages": [("user", message.content)]}
    given = Command(resume={said.key: said.allowed}) if said else given
    config = {"configurable": {"thread_id": f"{message.channel}/{message.session}"}}
    for mode, part in app.stream(given, config, stream_mode=["messages", "updates"]):
        if mode == "messages" and part[1]["langgraph_node"] == "model":
            yield part[0].content
        elif mode == "updates":
            for each in part.get("__interrupt__", ()):
                answer.ask_later(each.id, each.value)
