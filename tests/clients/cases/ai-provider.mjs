// {"client":"AI SDK 6 (generateText)","protocol":"openai","packages":["ai@6.0.326","@ai-sdk/openai-compatible@2"],"version":"6.0.326","shows":"@ai-sdk/openai-compatible"}
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import { baseURL, done, equal, fails, isStopped, token } from "./check.mjs";

const model = createOpenAICompatible({ name: "door", baseURL, apiKey: token })("gpt-4o");
equal("reply", (await generateText({ model, prompt: "hello" })).text, "you said hello");
equal("stream", await streamText({ model, prompt: "hello" }).text, "you said hello");
const messages = ["a", "b", "history"].map((content, at) => ({
  role: at % 2 ? "assistant" : "user",
  content,
}));
equal("history", (await generateText({ model, messages })).text, "before: a, b");
await fails("errors", () => generateText({ model, prompt: "fail", maxRetries: 0 }));
const abort = new AbortController();
const slow = streamText({ model, prompt: "slow", abortSignal: abort.signal });
await slow.textStream[Symbol.asyncIterator]().next();
abort.abort();
equal("stop", await isStopped(), true);
done();
