import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { createDialer, type SocketConstructor } from "../../../lib/pico-link/dial.ts";
import type { SocketEvent } from "../../../lib/pico-link/types.ts";

/** Sockets that never open. Each reports it by other events, as platforms do. */
function refusing(events: readonly string[]): SocketConstructor {
  return class {
    readonly binaryType = "";
    readonly bufferedAmount = 0;
    addEventListener(type: string, listener: (event: object) => void): void {
      if (events.includes(type)) queueMicrotask(() => listener({ code: 1006, reason: "" }));
    }
    send(): void {}
    close(): void {}
  };
}

describe("createDialer", () => {
  test.each([
    ["by an error and a close", ["error", "close"]],
    ["by an error alone", ["error"]],
    ["by a close alone", ["close"]],
  ])("reports a refused connection once when the platform emits %s", async (_, events) => {
    const news: SocketEvent[] = [];
    const fetch = () => Promise.reject(new Error("connection refused"));
    const dial = createDialer(refusing(events), {
      headers: false,
      clock: createStoppedClock(),
      fetch,
    });
    await new Promise<void>((resolve) => {
      dial({ url: "ws://127.0.0.1:1/pico", token: "a-token" }, (each) => {
        news.push(each);
        setImmediate(resolve);
      });
    });
    expect(news).toEqual([{ type: "failed" }]);
  });
});
