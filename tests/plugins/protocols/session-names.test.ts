import { expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { application, channels } from "../../../plugins/channels/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { openai } from "../../../plugins/protocols/openai/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";

const tokens = { pico: "a-short-token-of-pico", openai: "openai-".repeat(8) };

test("tells clients of a protocol nothing about a short channel token", async () => {
  const kernel = createKernel(
    [
      tokenStore(memory(tokens)),
      channels(),
      http({ port: 0 }),
      picoServer(),
      openai(),
      application(async ({ reply }) => void (await reply({ content: "hello" }))),
    ],
    {
      log: createCapturedLog().log,
      config: { "channels.pico": { enabled: true }, "channels.openai": { enabled: true } },
    },
  );
  await kernel.start();
  const send = async (session: string): Promise<number> => {
    const response = await fetch(`${kernel.services.openai.status().url}/chat/completions`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${tokens.openai}`,
        "Content-Type": "application/json",
        "X-Doorward-Session": session,
      },
      body: JSON.stringify({ model: "doorward", messages: [{ role: "user", content: "hi" }] }),
    });
    await response.text();
    return response.status;
  };
  expect(await send("another-short-token00")).toBe(200);
  expect(await send(tokens.pico)).toBe(200);
  // A long one cannot be guessed, and must not become a name that pages show.
  expect(await send(tokens.openai)).toBe(400);
  await kernel.stop();
});
