import { describe, expect, test } from "vitest";
import { stoppedClock } from "../../../kernel/testing.ts";
import { dialer, type Hearing, type SocketConstructor } from "../../../plugins/pico-link/dial.ts";
import type { Refusal } from "../../../plugins/pico-link/types.ts";

/** Sockets that never open; each tells it by these events, as platforms do. */
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

describe("a connection that is refused", () => {
  test.each([
    ["by an error and a close", ["error", "close"]], ["by an error alone", ["error"]], ["by a close alone", ["close"]],
  ])("is noticed once when the platform tells it %s", async (_, events) => {
    const failures: Refusal[] = [];
    const fetch = () => Promise.reject(new Error("nobody listens"));
    const dial = dialer(refusing(events), { headers: false, clock: stoppedClock(), fetch });
    const nothing = (): void => expect.fail("nothing else happens");
    await new Promise<void>((resolve) => {
      const hear: Hearing = {
        opened: nothing, message: nothing, heard: nothing, closed: nothing,
        failed(refusal) {
          failures.push(refusal);
          setImmediate(resolve);
        },
      };
      dial({ url: "ws://127.0.0.1:1/pico", token: "a-token" }, hear);
    });
    expect(failures).toEqual([{}]);
  });
});
