import { describe, expect, test } from "vitest";
import {
  interpretClose,
  closeReason,
  closeCodes,
  messageErrors,
  parseCloseReason,
  rejections,
  type ClientAction,
  type CloseName,
} from "../../../lib/pico-wire/index.ts";

const table: [number, CloseName, ClientAction][] = [
  [1000, "normal", "stop"],
  [1001, "going_away", "retry-slowly"],
  [1002, "protocol_error", "retry"],
  [1003, "unsupported_data", "retry"],
  [1007, "invalid_data", "retry"],
  [1008, "session_ended", "stop"],
  [1009, "too_big", "smaller"],
  [1011, "internal", "retry"],
  [1012, "restart", "retry-after"],
  [1012, "token_rotated", "retry-after"],
  [1013, "try_later", "retry-after"],
  [4400, "bad_request", "stop"],
  [4401, "unauthorized", "new-token"],
  [4403, "forbidden", "stop"],
  [4408, "heartbeat", "retry"],
  [4409, "replaced", "stop"],
  [4410, "slow_consumer", "retry"],
  [4429, "rate_limited", "retry-after"],
];

describe("interpretClose", () => {
  test.each(table)("maps close code %i %s to the client action %s", (code, name, client) => {
    expect(closeCodes[name]).toMatchObject({ code, client });
    expect(interpretClose(code, name)).toEqual({ name, client, retryMs: undefined });
  });

  test("covers every close code", () => {
    expect(Object.keys(closeCodes).sort()).toEqual(table.map(([, name]) => name).sort());
  });

  test("formats a reason with the milliseconds to wait", () => {
    expect(closeReason("token_rotated", 1500.4)).toBe("token_rotated; retry=1500");
    expect(closeReason("heartbeat")).toBe("heartbeat");
    expect(closeReason("protocol_error")).toBe("");
    expect(parseCloseReason("token_rotated; retry=1500")).toEqual({
      name: "token_rotated",
      retryMs: 1500,
    });
    expect(interpretClose(1012, "token_rotated; retry=20")).toEqual({
      name: "token_rotated",
      client: "retry-after",
      retryMs: 20,
    });
  });

  test("retries after unknown codes and reasons", () => {
    expect(interpretClose(1006)).toEqual({ name: undefined, client: "retry", retryMs: undefined });
    expect(interpretClose(4999, "whatever; retry=x")).toEqual({
      name: undefined,
      client: "retry",
      retryMs: undefined,
    });
    expect(interpretClose(4408, "")).toMatchObject({ name: "heartbeat" });
  });

  test.each([
    [1000, ""],
    [1000, "tunnel closed; retry=5"],
    [1008, ""],
    [1008, "policy"],
    [1008, "normal"],
    [4403, "quota of the tunnel"],
  ])("retries after %i without a name of the server: %j", (code, text) => {
    expect(interpretClose(code, text)).toMatchObject({ name: undefined, client: "retry" });
  });

  test("stops after a private code whose reason a proxy removed", () => {
    expect(interpretClose(4409, "")).toMatchObject({ name: "replaced", client: "stop" });
  });

  test("limits reasons to the size of a close frame", () => {
    for (const name of Object.keys(closeCodes) as CloseName[])
      expect(closeReason(name, 999_999_999).length).toBeLessThanOrEqual(123);
  });
});

describe("rejections and messageErrors", () => {
  test("have the same HTTP status for the same name", () => {
    for (const [code, { status }] of Object.entries(rejections)) {
      if (code in messageErrors)
        expect(messageErrors[code as keyof typeof messageErrors].status).toBe(status);
    }
  });
});
