import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { startOpenai, tokens } from "./harness.ts";

describe("slow reader", () => {
  test("loses its connection, which stops the application", async () => {
    await using service = await startOpenai({ write_timeout: 1 });
    const stopped = new Promise<unknown>((resolve) => {
      service.state.handler = async (message) => {
        message.signal.addEventListener("abort", () => resolve(message.signal.reason));
        for (let part = 0; part < 40 && !message.signal.aborted; part++) {
          await message.reply({ content: "x".repeat(400_000) }).catch(() => undefined);
        }
        if (message.signal.aborted) return;
        await new Promise((done) => message.signal.addEventListener("abort", done));
      };
    });
    const { hostname, port } = new URL(service.base);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined).pause();
    const body = JSON.stringify({
      model: "doorward",
      stream: true,
      messages: [{ role: "user", content: "hi" }],
    });
    socket.write(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n" +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
        `Authorization: Bearer ${tokens.openai}\r\n\r\n${body}`,
    );
    expect(await stopped).toMatchObject({ code: "stopped" });
    socket.destroy();
    expect((await fetch(`${service.base}/models`)).status).toBe(401);
  });
});
