// {"client":"openai (Node)","protocol":"openai","packages":["openai@6.49.0"]}
import OpenAI from "openai";
import { baseURL, done, equal, fails, isStopped, token } from "./check.mjs";

const client = new OpenAI({ baseURL, apiKey: token, maxRetries: 0 });
const user = (content) => ({ role: "user", content });
const ask = (content, more) =>
  client.chat.completions.create({ model: "gpt-4o", messages: [user(content)], ...more });

const whole = await ask("hello");
equal("reply", whole.choices[0].message.content, "you said hello");
equal("usage", whole.usage.total_tokens, 0);
let text = "";
for await (const chunk of await ask("hello", { stream: true }))
  text += chunk.choices[0]?.delta.content ?? "";
equal("stream", text, "you said hello");
const messages = [user("a"), { role: "assistant", content: "b" }, user("history")];
equal("history", (await ask("", { messages })).choices[0].message.content, "before: a, b");
await fails("errors", () => ask("fail"));
const slow = await ask("slow", { stream: true });
for await (const chunk of slow) if (chunk.choices[0]?.delta.content) break;
equal("stop", await isStopped(), true);
const response = await client.responses.create({ model: "gpt-4o", input: "hello" });
equal("responses", response.output_text, "you said hello");
done();
