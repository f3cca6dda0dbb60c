import { describe, expect, test } from "vitest";
import { startOpenai, tokens } from "./harness.ts";

describe("max_requests", () => {
  test("allows as many replies in progress", async () => {
    const count = 300;
    await using service = await startOpenai({ max_requests: count });
    let release = (): void => undefined;
    const all = new Promise<void>((resolve) => void (release = resolve));
    service.state.handler = async ({ reply }) => {
      if (service.received.length === count) release();
      await all;
      await reply({ content: "done" });
    };
    const send = async (): Promise<number> => {
      const response = await fetch(`${service.base}/chat/completions`, {
        method: "POST",
        headers: {
          Authorization: `Bearer ${tokens.openai}`,
          "Content-Type": "application/json",
        },
        body: JSON.stringify({ model: "doorward", messages: [{ role: "user", content: "hi" }] }),
      });
      if (response.status !== 200) release();
      await response.text();
      return response.status;
    };
    const statuses = await Promise.all(Array.from({ length: count }, send));
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});
