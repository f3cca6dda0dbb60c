import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { createRateLimitedWarn } from "../../../plugins/pico-client/server-warnings.ts";
import { near } from "../../support/pico-client-harness.ts";

test("an error of the other end is one line of the log, and no long one", async () => {
  const there = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => there.close());
  await once(there, "listening");
  const error = {
    code: "x".repeat(1_000_000),
    message: `\r\n[12:00:00] INFO: all is well\u009b2J${"y".repeat(1_000_000)}`,
  };
  there.on("connection", (socket) =>
    socket.send(JSON.stringify({ type: "error", payload: error })),
  );
  await using here = await near(`ws://127.0.0.1:${(there.address() as AddressInfo).port}/pico`);
  const { text, code } = await here.until(here.lines, (line) =>
    line.text.startsWith("the other end reports: "),
  );
  expect(text).toMatch(/^the other end reports: {2}\[12:00:00\] INFO: all is well 2Jy{200,300} …$/);
  expect(String(code)).toMatch(/^x{300} …$/);
});

test("of a flood of them some are written, and it is said how many were not", () => {
  const clock = createStoppedClock();
  const { log, lines } = createCapturedLog();
  const remark = createRateLimitedWarn(log, clock);
  for (let number = 0; number < 1_000; number += 1) remark({ number }, "said");
  expect(lines).toHaveLength(20);
  clock.increment(1_000);
  for (let number = 0; number < 1_000; number += 1) remark({ number }, "said");
  expect(lines.slice(20)).toMatchObject([
    { level: "warn", lines: 980 },
    { text: "said", number: 0 },
  ]);
});
