// Streams the reply of a language model: first its thoughts, then the text and the context usage.
import { setTimeout as after } from "node:timers/promises";
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";

/** Replace this with a model; any AsyncIterable of text works. */
async function* generate(prompt: string, signal: AbortSignal): AsyncIterable<string> {
  for (const word of `You asked: ${prompt}. Here is what I think of it.`.split(/(?= )/)) {
    if (signal.aborted) return;
    yield word;
    await after(20);
  }
}

const kernel = createKernel([
  tokenStore(memory({ pico: process.env["CHANNEL_TOKEN"] ?? "correct-horse-battery-staple" })),
  channels(),
  http({ port: Number(process.env["PORT"] ?? 8080) }),
  picoServer(),
  application(async (message) => {
    message.accept(); // the message is safe here: the reply may take minutes
    await message.reply({ kind: "thought", content: "Let me see." });
    const answer = message.stream({ model: "example-1", cancelWhenAlone: true });
    for await (const token of generate(message.content, answer.signal)) answer.write(token);
    await answer.end({ contextUsage: { used: 42, total: 8_192 } });
  }),
]);
await kernel.start();
console.log("listening", kernel.services.http.addresses()[0]?.href);
process.once("SIGTERM", () => void kernel.stop());
