// {"client":"AI SDK 6 (generateText, tools)","protocol":"openai","application":"tools.py","packages":["ai@6.0.326","@ai-sdk/openai-compatible@2.0.92","zod@4"]}
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { baseURL, done, equal, token } from "./check.mjs";

const provider = createOpenAICompatible({ name: "doorward", baseURL, apiKey: token });
const cities = [];
const weather = tool({
  description: "Weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => {
    cities.push(city);
    return "sunny";
  },
});
const options = {
  model: provider("doorward"),
  tools: { weather },
  stopWhen: stepCountIs(3),
  prompt: "Rome",
  maxRetries: 0,
};
equal("tools", (await generateText(options)).text, "The client says: sunny");
equal("streamed tools", await streamText(options).text, "The client says: sunny");
equal("tools", cities, ["Rome", "Rome"]);
done();
