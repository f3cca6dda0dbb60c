import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import {
  startPicoServer,
  waitFor,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";
import { connectRaw, disconnected, masked, read } from "../../../support/raw-web-socket.ts";

/** Reads the next close frame and returns its code. */
async function closeCode(socket: Socket): Promise<number> {
  const frame = await read(socket, ({ length }) => length >= 4);
  expect(frame[0]).toBe(0x88);
  socket.end();
  return frame.readUInt16BE(2);
}

describe("close codes", () => {
  test("report 1000 from a client", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect("/pico?session_id=s1");
    const { connection } = await testServer.fact("pico-server:connected");
    peer.ws.close(1000, "bye\u0007");
    expect(await testServer.fact("pico-server:disconnected")).toEqual({
      type: "pico-server:disconnected",
      connection,
      session: "s1",
      code: 1000,
      reason: "bye ",
      initiator: "client",
    });
  });

  test("report 1006 after a network failure", async () => {
    await using testServer = await startPicoServer();
    (await testServer.connect()).ws.terminate();
    expect(await disconnected(testServer)).toEqual({
      code: 1006,
      reason: "",
      initiator: "network",
    });
  });

  test("send 1001 going_away and wait for the clients on stop", async () => {
    const testServer = await startPicoServer();
    const peers = await Promise.all([testServer.connect(), testServer.connect()]);
    await testServer.kernel.stop();
    const expected = {
      code: 1001,
      reason: expect.stringMatching(/^going_away; retry=15\d\d$/) as string,
    };
    for (const peer of peers) expect(await peer.closed).toEqual(expected);
    expect(testServer.facts.filter(({ type }) => type === "pico-server:disconnected")).toHaveLength(
      2,
    );
  });

  test("delay a stop by one second for a silent client", async () => {
    const testServer = await startPicoServer();
    const socket = await connectRaw(testServer);
    const began = performance.now();
    await testServer.kernel.stop();
    expect(performance.now() - began).toBeLessThan(5_000);
    socket.destroy();
  });

  test("send 1001 going_away when the channel is turned off", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect();
    await testServer.configure({ enabled: false });
    expect(await peer.closed).toEqual({ code: 1001, reason: "going_away" });
    expect((await testServer.sendRaw("/pico")).status).toBe(404);
    await testServer.configure({ enabled: true });
    await (await testServer.connect()).settled();
  });

  test("send 1002 for malformed frames", async () => {
    await using testServer = await startPicoServer();
    const socket = await connectRaw(testServer);
    socket.write(masked(0xff, "x"));
    expect(await closeCode(socket)).toBe(1002);
    expect(await disconnected(testServer)).toEqual({ code: 1002, reason: "", initiator: "server" });
  });

  test("send 1007 for invalid UTF-8", async () => {
    await using testServer = await startPicoServer();
    const socket = await connectRaw(testServer);
    socket.write(masked(0x81, Buffer.from([0xff, 0xfe])));
    expect(await closeCode(socket)).toBe(1007);
    expect(await disconnected(testServer)).toEqual({ code: 1007, reason: "", initiator: "server" });
  });

  test("send 1009 too_big for a message above the new max_payload", async () => {
    await using testServer = await startPicoServer();
    await testServer.configure({ max_payload: 1024 });
    const peer = await testServer.connect();
    peer.send("x".repeat(1024));
    expect(await peer.next()).toMatchObject({ type: "error" });
    peer.send("x".repeat(1025));
    expect(await peer.closed).toEqual({ code: 1009, reason: "too_big" });
    expect(await disconnected(testServer)).toEqual({
      code: 1009,
      reason: "too_big",
      initiator: "server",
    });
  });

  test("send 1011 internal after an unexpected error", async () => {
    let broken = false;
    const random = (bytes: number): Uint8Array => {
      if (broken) throw new Error("no randomness");
      return crypto.getRandomValues(new Uint8Array(bytes));
    };
    await using testServer = await startPicoServer({ random });
    const peer = await testServer.connect();
    broken = true;
    peer.send({ type: "message.send", payload: { content: "an id must be made for it" } });
    expect(await peer.closed).toEqual({ code: 1011, reason: "internal" });
    broken = false;
  });

  test("send 4400 bad_request for the twentieth malformed frame in a minute", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect();
    for (let n = 0; n < 19; n++) peer.send("nonsense");
    await peer.settled();
    testServer.clock.increment(60_000);
    for (let n = 0; n < 19; n++) peer.send("nonsense");
    await peer.settled();
    peer.send("nonsense");
    expect(await peer.closed).toEqual({ code: 4400, reason: "bad_request" });
    expect(
      peer.frames.filter(({ payload }) => payload?.["code"] === "invalid_message"),
    ).toHaveLength(39);
  });

  test("send 4401 unauthorized after the token was removed", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect();
    testServer.removeToken();
    expect(await peer.closed).toEqual({ code: 4401, reason: "unauthorized" });
    expect((await testServer.sendRaw("/pico")).status).toBe(503);
  });

  test("send 4429 rate_limited for the fifth message beyond the burst", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect();
    for (let n = 0; n < 206; n++) peer.send({ type: "ping", id: `p${n}` });
    expect(await peer.closed).toEqual({ code: 4429, reason: "rate_limited; retry=5000" });
    expect(peer.frames.filter(({ type }) => type === "pong")).toHaveLength(200);
    const errors = peer.frames.filter(({ type }) => type === "error").map(({ payload }) => payload);
    expect(errors.map((payload) => [payload?.["code"], payload?.["request_id"]])).toEqual(
      [200, 201, 202, 203, 204].map((n) => ["rate_limited", `p${n}`]),
    );
  });

  test("follow message_rate per second, without a limit at 0", async () => {
    await using testServer = await startPicoServer({
      config: { message_rate: 2, message_burst: 3 },
    });
    const peer = await testServer.connect();
    const codes = async (count: number) => {
      for (let n = 0; n < count; n++) peer.send({ type: "ping", id: "p" });
      await waitFor(() => peer.frames.length === count);
      return peer.frames.splice(0).map(({ type }) => type);
    };
    expect(await codes(4)).toEqual(["pong", "pong", "pong", "error"]);
    testServer.clock.increment(1_000);
    expect(await codes(3)).toEqual(["pong", "pong", "error"]);
    for (const limit of ["message_rate", "message_burst"]) {
      await testServer.configure({ [limit]: 0 });
      expect(new Set(await codes(500))).toEqual(new Set(["pong"]));
    }
  });
});

describe("1012 token_rotated", () => {
  const rotate = (testServer: PicoTestServer, seen: number, graceS = 0) =>
    testServer.services.tokenSecrets.replace("pico", {
      expect: seen,
      value: `${"n".repeat(30)}${seen}`,
      graceS,
    });

  test("closes connections of the old token immediately with a retry time", async () => {
    await using testServer = await startPicoServer();
    const old = await Promise.all([testServer.connect(), testServer.connect()]);
    await rotate(testServer, 1);
    for (const peer of old) {
      const { code, reason } = await peer.closed;
      expect(code).toBe(1012);
      expect(Number(/^token_rotated; retry=(\d+)$/.exec(reason)?.[1])).toBeGreaterThanOrEqual(
        1_000,
      );
    }
    expect((await testServer.sendRaw("/pico")).status).toBe(401);
    const fresh = await testServer.connect("/pico", { token: `${"n".repeat(30)}1` });
    await fresh.settled();
  });

  test("spreads closes over the grace period and spares new connections", async () => {
    await using testServer = await startPicoServer();
    await Promise.all(Array.from({ length: 4 }, () => testServer.connect()));
    await rotate(testServer, 1, 20);
    const fresh = await testServer.connect("/pico", { token: `${"n".repeat(30)}1` });
    const open = () => testServer.services.picoServer.status().connections;
    const counts: number[] = [];
    for (let n = 0; n < 4; n++) {
      await testServer.pass(5);
      await waitFor(() => open() === 4 - n);
      counts.push(open());
    }
    expect(counts).toEqual([4, 3, 2, 1]);
    await fresh.settled();
  });

  test("closes remaining connections at a second rotation without grace", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect();
    await rotate(testServer, 1, 3_600);
    await peer.settled();
    await rotate(testServer, 2);
    expect((await peer.closed).code).toBe(1012);
  });
});
