// {"client":"LangChain (Node)","protocol":"openai","packages":["@langchain/openai@1.6.0","@langchain/core"]}
import { ChatOpenAI } from "@langchain/openai";
import { baseURL, done, equal, fails, token } from "./check.mjs";

const configuration = { baseURL };
const chat = new ChatOpenAI({ model: "gpt-4o", apiKey: token, configuration, maxRetries: 0 });
equal("reply", (await chat.invoke("hello")).content, "you said hello");
let text = "";
for await (const part of await chat.stream("hello")) text += part.content;
equal("stream", text, "you said hello");
const turns = [
  ["user", "a"],
  ["ai", "b"],
  ["user", "history"],
];
equal("history", (await chat.invoke(turns)).content, "before: a, b");
await fails("errors", () => chat.invoke("fail"));
done();
