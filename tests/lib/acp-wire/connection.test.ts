import { describe, expect, test } from "vitest";
import {
  RpcConnection,
  RpcError,
  rpcCodes,
  type ConnectionOptions,
} from "../../../lib/acp-wire/index.ts";

/** Two peers that are connected, and what each of them wrote. */
function connect(other: Partial<ConnectionOptions> = {}) {
  const seen: string[] = [];
  const invalid: string[] = [];
  const notes: unknown[] = [];
  const left = new RpcConnection({
    write: (line) => right.receive(line),
    request: async () => ({}),
    notification: (method, params) => notes.push([method, params]),
    invalid: (_, reason) => invalid.push(reason),
  });
  const right = new RpcConnection({
    write(line) {
      seen.push(line);
      left.receive(line);
    },
    request: async (method) => ({ method }),
    notification: (method, params) => notes.push([method, params]),
    invalid: (_, reason) => invalid.push(reason),
    ...other,
  });
  return { left, right, seen, invalid, notes };
}

describe("RpcConnection", () => {
  test("answers a request with the result of its peer", async () => {
    const { left } = connect();
    expect(await left.request("session/new", { cwd: "/" })).toEqual({ method: "session/new" });
  });

  test("passes on an RpcError, and hides other errors", async () => {
    const { left } = connect({
      request: async (method) => {
        if (method === "known") throw new RpcError(rpcCodes.methodNotFound, "no", { a: 1 });
        throw new Error("a path of this machine");
      },
    });
    await expect(left.request("known", {})).rejects.toMatchObject({ code: -32601, data: { a: 1 } });
    await expect(left.request("other", {})).rejects.toMatchObject({
      code: -32603,
      message: "Internal error",
    });
  });

  test("cancels a request, which then ends as cancelled", async () => {
    const aborted: unknown[] = [];
    const { left } = connect({
      request: (_, __, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            aborted.push(signal.reason);
            reject(new Error("gone"));
          }),
        ),
    });
    const controller = new AbortController();
    const asked = left.request("session/request_permission", {}, { signal: controller.signal });
    controller.abort();
    await expect(asked).rejects.toMatchObject({ code: rpcCodes.cancelled });
    expect(aborted).toHaveLength(1);
  });

  test("settles a request before it reads the next line", async () => {
    const order: string[] = [];
    const peer = new RpcConnection({
      write: () => undefined,
      request: async () => ({}),
      notification: (method) => order.push(method),
      invalid: (_, reason) => order.push(reason),
    });
    const answer = peer.request("session/prompt", {}, { settled: () => order.push("settled") });
    peer.receive('{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}');
    peer.receive('{"jsonrpc":"2.0","method":"late"}');
    expect(await answer).toEqual({ stopReason: "end_turn" });
    expect(order).toEqual(["settled", "late"]);
  });

  test.each([
    ["text", "it is not JSON"],
    ["[]", "it is not a JSON object"],
    ["null", "it is not a JSON object"],
    ["{}", "it is neither a request nor an answer"],
    ['{"method":1}', "it is neither a request nor an answer"],
    ['{"id":7,"result":{}}', "it answers no request"],
  ])("reports the line %s", (line, reason) => {
    const { left, invalid } = connect();
    left.receive(line);
    expect(invalid).toEqual([reason]);
  });

  test("refuses a second request with an open id", async () => {
    const { left, right, seen } = connect({ request: () => new Promise(() => undefined) });
    void left;
    right.receive('{"id":"a","method":"x"}');
    right.receive('{"id":"a","method":"x"}');
    expect(JSON.parse(seen[0]!)).toMatchObject({ id: "a", error: { code: -32600 } });
  });

  test("ends everything that is open when it closes", async () => {
    const { left, right, seen } = connect({
      request: (_, __, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        ),
    });
    const asked = left.request("session/prompt", {});
    right.close(new Error("gone"));
    left.close(new Error("the agent ended"));
    await expect(asked).rejects.toThrow("the agent ended");
    await expect(left.request("session/new", {})).rejects.toMatchObject({ code: -32603 });
    expect(seen).toEqual([]);
  });
});
