import { describe, expect, test } from "vitest";
import type { Application } from "../../../../plugins/channels/index.ts";
import {
  contents,
  from,
  leave,
  next,
  resuming,
  send,
  type NumberedFrame,
} from "../../../support/pico-resume-harness.ts";
import {
  startPicoServer,
  waitFor,
  wsLines,
  bearer,
  rejection,
} from "../../../support/pico-server-harness.ts";

describe("hello", () => {
  test("comes first with everything a client needs to resume", async () => {
    await using testServer = await startPicoServer({
      config: { ping_interval: 20, read_timeout: 40, max_payload: 2048 },
    });
    const { first } = await resuming(testServer);
    expect(first).toEqual({
      type: "hello",
      session_id: "s1",
      timestamp: testServer.clock.now(),
      payload: {
        version: 1,
        conn_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        session_id: "s1",
        epoch: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
        seq: 0,
        resumed: false,
        replay: 0,
        gap: false,
        ping_interval: 20,
        read_timeout: 40,
        max_payload: 2048,
        window: { frames: 256, bytes: 524_288, ttl_s: 300 },
        retry: { min: 500, max: 30_000 },
      },
    });
  });

  test("keeps conn_id apart from the id in events and pages", async () => {
    await using testServer = await startPicoServer();
    const { hello } = await resuming(testServer);
    expect((await testServer.fact("pico-server:connected")).connection).not.toBe(hello.conn_id);
    expect(
      JSON.stringify([
        testServer.facts,
        testServer.lines,
        testServer.services.picoServer.connections(),
      ]),
    ).not.toContain(hello.conn_id);
  });

  test.each(["", "?pico_ext=0", "?pico_ext=yes", "?resume=e:1"])(
    "does not appear for a plain client (%s)",
    async (query) => {
      await using testServer = await startPicoServer({
        app: ({ reply }) => void reply({ content: "hi" }),
      });
      const peer = await testServer.connect(`/pico${query}`);
      peer.send(send("m1"));
      const frame = (await peer.next()) as NumberedFrame;
      expect([frame.type, frame.seq, frame.epoch]).toEqual([
        "message.create",
        undefined,
        undefined,
      ]);
      await peer.settled();
      expect(peer.frames).toEqual([]);
    },
  );
});

describe("sequence numbers", () => {
  test("appear on creates, final updates and deletes only", async () => {
    await using testServer = await startPicoServer();
    const peer = await resuming(testServer);
    const to = { channel: "pico", session: "s1" };
    const { channels } = testServer.services;
    const { id } = await channels.send(to, { content: "a" });
    await channels.update(to, id, { content: "ab" });
    channels.typing(to, true);
    await channels.update(to, id, { content: "abc", final: true });
    await channels.remove(to, id);
    const frames = await next(peer, 5);
    expect(frames.map(({ type, seq, epoch }) => [type, seq, epoch])).toEqual([
      ["message.create", 1, peer.hello.epoch],
      ["message.update", undefined, undefined],
      ["typing.start", undefined, undefined],
      ["message.update", 2, peer.hello.epoch],
      ["message.delete", 3, peer.hello.epoch],
    ]);
  });

  test("appear only on frames of the session of the URL", async () => {
    await using testServer = await startPicoServer();
    const peer = await resuming(testServer);
    peer.send({ type: "typing.start", session_id: "s2" });
    await peer.settled();
    await testServer.say("s2", "x");
    expect((await next(peer, 1))[0]!.seq).toBeUndefined();
  });
});

describe("message.ack", () => {
  test("follows acceptance, with status duplicate for a repeated message", async () => {
    let release = (): void => undefined;
    const taken: string[] = [];
    const app: Application = ({ id }) =>
      new Promise<void>((resolve) => {
        taken.push(id);
        release = resolve;
      });
    await using testServer = await startPicoServer({ app });
    const peer = await resuming(testServer);
    peer.send(send("m1"));
    await waitFor(() => taken.length === 1);
    await peer.settled();
    expect(peer.frames).toEqual([]);
    release();
    const ack = {
      type: "message.ack",
      session_id: "s1",
      payload: { request_id: "m1", status: "accepted" },
    };
    expect(await peer.next()).toMatchObject(ack);
    const other = await resuming(testServer);
    other.send(send("m1"));
    expect(await other.next()).toMatchObject({
      ...ack,
      payload: { request_id: "m1", status: "duplicate" },
    });
    expect(taken).toEqual(["m1"]);
  });

  test("gives way to id_reused and other errors", async () => {
    const app: Application = ({ content }) =>
      content === "no" ? Promise.reject(new Error("no")) : undefined;
    await using testServer = await startPicoServer({ app });
    const peer = await resuming(testServer);
    peer.send(send("m1", "one"));
    peer.send(send("m1", "two"));
    peer.send(send("m2", "no"));
    const answers = (await next(peer, 3)).map(({ type, payload }) => [
      type,
      payload?.request_id,
      payload?.code,
    ]);
    expect(answers.sort()).toEqual([
      ["error", "m1", "id_reused"],
      ["error", "m2", "internal"],
      ["message.ack", "m1", undefined],
    ]);
  });

  test("does not deduplicate messages of plain clients", async () => {
    const taken: string[] = [];
    await using testServer = await startPicoServer({
      app: ({ content }) => void taken.push(content),
    });
    const peer = await testServer.connect();
    peer.send(send("1", "one"));
    peer.send(send("1", "two"));
    await waitFor(() => taken.length === 2);
  });
});

describe("resume", () => {
  test("replays everything after the cursor, then continues", async () => {
    await using testServer = await startPicoServer();
    const peer = await resuming(testServer);
    for (const text of ["a", "b"]) await testServer.say("s1", text);
    await next(peer, 2);
    await leave(testServer, peer);
    for (const text of ["c", "d"]) await testServer.say("s1", text);
    const again = await resuming(testServer, from({ ...peer.hello, seq: 1 }));
    expect(again.first.payload).toMatchObject({
      epoch: peer.hello.epoch,
      seq: 4,
      resumed: true,
      replay: 3,
      gap: false,
    });
    await testServer.say("s1", "e");
    const frames = await next(again, 4);
    expect([contents(frames), frames.map(({ seq }) => seq)]).toEqual([
      ["b", "c", "d", "e"],
      [2, 3, 4, 5],
    ]);
  });

  test("sends the latest state of unfinished messages after the replay", async () => {
    await using testServer = await startPicoServer();
    const peer = await resuming(testServer);
    await leave(testServer, peer);
    const to = { channel: "pico", session: "s1" };
    const { id } = await testServer.services.channels.send(to, { content: "a" });
    for (const content of ["ab", "abc"])
      await testServer.services.channels.update(to, id, { content });
    const again = await resuming(testServer, from(peer.hello));
    expect(contents(await next(again, 2))).toEqual(["a", "abc"]);
  });

  test("reports one gap beyond the window, then continues", async () => {
    await using testServer = await startPicoServer();
    const peer = await resuming(testServer);
    await leave(testServer, peer);
    for (let n = 1; n <= 300; n++) await testServer.say("s1", `${n}`);
    const again = await resuming(testServer, from(peer.hello));
    expect(again.first.payload).toMatchObject({ seq: 300, resumed: false, replay: 0, gap: true });
    await testServer.say("s1", "301");
    const [gap, frame] = await next(again, 2);
    expect(gap).toMatchObject({ type: "gap", payload: { from: 1, to: 300, reason: "overflow" } });
    expect(frame).toMatchObject({ seq: 301, payload: { content: "301" } });
  });

  test("keeps frames for 300 s, then reports an epoch change", async () => {
    await using testServer = await startPicoServer();
    const peer = await resuming(testServer);
    await leave(testServer, peer);
    await testServer.say("s1", "a");
    testServer.clock.increment(299_999);
    const second = await resuming(testServer, from(peer.hello));
    expect(contents(await next(second, 1))).toEqual(["a"]);
    await leave(testServer, second);
    testServer.clock.increment(300_000);
    const third = await resuming(testServer, from({ ...peer.hello, seq: 1 }));
    expect(third.hello.epoch).not.toBe(peer.hello.epoch);
    expect(third.first.payload).toMatchObject({ seq: 0, resumed: false, gap: true });
    expect((await next(third, 1))[0]).toMatchObject({
      type: "gap",
      payload: { reason: "epoch_changed" },
    });
  });

  test("starts with undelivered frames without a cursor", async () => {
    await using testServer = await startPicoServer();
    await testServer.say("s1", "a");
    const peer = await resuming(testServer);
    expect(peer.first.payload).toMatchObject({ seq: 1, resumed: false, replay: 1, gap: false });
    expect(await next(peer, 1)).toMatchObject([{ seq: 1, payload: { content: "a" } }]);
  });

  test.each([
    "&resume=nonsense",
    "&resume=:1",
    "&resume=e:-1",
    "&resume=a:1&resume=a:2",
    "&conn=a&conn=b",
  ])("rejects a malformed cursor (%s)", async (query) => {
    await using testServer = await startPicoServer();
    expect(await testServer.sendRaw(`/pico?pico_ext=1${query}`)).toMatchObject(
      rejection(400, "bad_handshake"),
    );
  });

  test("requires the token", async () => {
    await using testServer = await startPicoServer();
    const peer = await resuming(testServer);
    const path = `/pico?session_id=s1&pico_ext=1${from(peer.hello)}&conn=${peer.hello.conn_id}`;
    expect(await testServer.sendRaw(path, { lines: wsLines })).toMatchObject(
      rejection(401, "token_missing"),
    );
    await peer.settled();
  });
});

describe("conn", () => {
  test("replaces the connection it names, which closes with 4409", async () => {
    await using testServer = await startPicoServer({ config: { max_connections: 1 } });
    const ghost = await resuming(testServer);
    expect(await testServer.sendRaw("/pico?session_id=s1&pico_ext=1")).toMatchObject(
      rejection(503, "too_many_connections"),
    );
    expect(await testServer.sendRaw("/pico?pico_ext=1&conn=guess")).toMatchObject(
      rejection(503, "too_many_connections"),
    );
    ghost.ws.pause(); // simulates a lost network: no response to the close
    const again = await resuming(testServer, `${from(ghost.hello)}&conn=${ghost.hello.conn_id}`);
    expect(again.first.payload).toMatchObject({ resumed: true });
    expect(testServer.services.picoServer.status().connections).toBe(1);
    expect(await testServer.sendRaw("/pico", { lines: [...wsLines, bearer] })).toMatchObject({
      status: 503,
    });
    ghost.ws.resume();
    expect(await ghost.closed).toEqual({ code: 4409, reason: "replaced" });
    const spent = await testServer.sendRaw(`/pico?pico_ext=1&conn=${ghost.hello.conn_id}`);
    expect(spent).toMatchObject(rejection(503, "too_many_connections"));
  });

  test("keeps the session subscribed while a reply continues", async () => {
    await using testServer = await startPicoServer();
    const ghost = await resuming(testServer);
    const answer = testServer.services.channels.stream(
      { channel: "pico", session: "s1" },
      { cancelWhenAlone: { afterMs: 0 } },
    );
    answer.write("one");
    const again = await resuming(testServer, `${from(ghost.hello)}&conn=${ghost.hello.conn_id}`);
    expect(answer.signal.aborted).toBe(false);
    again.ws.terminate();
    await waitFor(() => answer.signal.aborted);
  });
});
