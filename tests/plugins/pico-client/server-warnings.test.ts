import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { createRateLimitedWarn } from "../../../plugins/pico-client/server-warnings.ts";
import { startPicoClient } from "../../support/pico-client-harness.ts";

describe("createRateLimitedWarn", () => {
  test("logs an error of the server as one short line", async () => {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close());
    await once(server, "listening");
    const error = {
      code: "x".repeat(1_000_000),
      message: `\r\n[12:00:00] INFO: all is well\u009b2J${"y".repeat(1_000_000)}`,
    };
    server.on("connection", (socket) =>
      socket.send(JSON.stringify({ type: "error", payload: error })),
    );
    await using here = await startPicoClient(
      `ws://127.0.0.1:${(server.address() as AddressInfo).port}/pico`,
    );
    const { text, code } = await here.until(here.lines, (line) =>
      line.text.startsWith("the server reports: "),
    );
    expect(text).toMatch(/^the server reports: {2}\[12:00:00\] INFO: all is well 2Jy{200,300} …$/);
    expect(String(code)).toMatch(/^x{300} …$/);
  });

  test("bounds the rate and logs the number of dropped warnings", () => {
    const clock = createStoppedClock();
    const { log, lines } = createCapturedLog();
    const warn = createRateLimitedWarn(log, clock);
    for (let number = 0; number < 1_000; number += 1) warn({ number }, "text");
    expect(lines).toHaveLength(20);
    clock.increment(1_000);
    for (let number = 0; number < 1_000; number += 1) warn({ number }, "text");
    expect(lines.slice(20)).toMatchObject([
      { level: "warn", lines: 980 },
      { text: "text", number: 0 },
    ]);
  });
});
