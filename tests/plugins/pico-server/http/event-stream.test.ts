import { describe, expect, test } from "vitest";
import {
  fetchJson,
  rejection,
  startPicoServer,
  token,
  waitFor,
  wsLines,
  bearer,
} from "../../../support/pico-server-harness.ts";
import { openEventStream } from "../../../support/event-stream.ts";

describe("GET /pico/events", () => {
  test("sends the messages of a session with their cursors as ids", async () => {
    await using testServer = await startPicoServer();
    const stream = await openEventStream(testServer, "s1", { origin: "https://app.example.org" });
    expect(stream.r.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "access-control-allow-origin": "https://app.example.org",
      "referrer-policy": "no-referrer",
    });
    const to = { channel: "pico", session: "s1" };
    const { id } = await testServer.services.channels.send(to, { content: "a" });
    await testServer.services.channels.update(to, id, { content: "ab" });
    await testServer.services.channels.update(to, id, { content: "abc", final: true });
    const events = [await stream.next(), await stream.next(), await stream.next()];
    expect(events.map(({ data: { type, payload } }) => [type, payload?.content])).toEqual([
      ["message.create", "a"],
      ["message.update", "ab"],
      ["message.update", "abc"],
    ]);
    expect(events.map((event) => event.id?.split(":")[1])).toEqual(["1", undefined, "2"]);
  });

  test("resumes after Last-Event-ID from the start", async () => {
    await using testServer = await startPicoServer();
    const first = await openEventStream(testServer, "s1");
    const place = await waitFor(() => first.last() || undefined);
    first.r.destroy();
    await testServer.fact("pico-server:disconnected");
    for (const text of ["a", "b"]) await testServer.say("s1", text);
    for (const [id, texts] of [
      [place, ["a", "b"]],
      [place.replace(/0$/, "1"), ["b"]],
    ] as const) {
      const again = await openEventStream(testServer, "s1", { "last-event-id": id });
      for (const text of texts) expect((await again.next()).data.payload?.content).toBe(text);
      await testServer.say("other", "x");
      expect(again.events).toEqual([]);
      again.r.destroy();
    }
  });

  test("sends a deletion for turns to clients without turns", async () => {
    await using testServer = await startPicoServer({
      app: async ({ content, reply }) => {
        await reply({ content });
      },
    });
    const plain = await openEventStream(testServer, "s1");
    const start = await waitFor(() => plain.last() || undefined);
    const other = await openEventStream(testServer, "s1&pico_ext=1&pico_can=turns");
    expect((await other.next()).data.type).toBe("hello");
    for (const content of ["a", "b"])
      await fetchJson(testServer.port, "/pico/messages", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ session_id: "s1", content }),
      });
    const read = async ({ next }: { next: typeof plain.next }) => {
      const events: Awaited<ReturnType<typeof next>>[] = [];
      while (events.length < 4) {
        const event = await next();
        if (event.data.type.startsWith("message.")) events.push(event);
      }
      return events.map(({ id, data: { type, payload } }) => {
        return [id?.split(":")[1], type, payload?.["message_id"]];
      });
    };
    const turns = await read(other);
    expect(turns.map(([seq, type]) => [seq, type])).toEqual([
      ["1", "message.user"],
      ["2", "message.create"],
      ["3", "message.user"],
      ["4", "message.create"],
    ]);
    const expected = turns.map(([seq, type, id]) => {
      return [seq, type === "message.user" ? "message.delete" : type, id];
    });
    for (const stream of [
      plain,
      await openEventStream(testServer, "s1", { "last-event-id": start }),
      await openEventStream(testServer, "s1&pico_ext=1", { "last-event-id": start }),
    ])
      expect(await read(stream)).toEqual(expected);
  });

  test("reports a gap and continues after it", async () => {
    await using testServer = await startPicoServer();
    const stream = await openEventStream(testServer, "s1", { "last-event-id": "another:7" });
    await testServer.say("s1", "a");
    expect((await stream.next()).data).toMatchObject({
      type: "gap",
      payload: { reason: "epoch_changed" },
    });
    expect((await stream.next()).data.payload?.content).toBe("a");
  });

  test.each<[string, string, Record<string, string>, number, string, RegExp]>([
    ["without a session", "/pico/events", {}, 400, "invalid_session_id", /\?session_id=/],
    [
      "with an id that is none",
      "/pico/events?session_id=s",
      { "last-event-id": "x" },
      400,
      "bad_handshake",
      /EPOCH:SEQ/,
    ],
    [
      "without a token",
      "/pico/events?session_id=s",
      { authorization: "" },
      401,
      "token_missing",
      /Bearer <token>/,
    ],
  ])("%s is refused, and told what to send", async (_, path, headers, status, error, says) => {
    await using testServer = await startPicoServer();
    const answer = await fetchJson(testServer.port, path, { headers });
    expect(answer).toMatchObject(rejection(status, error));
    expect(answer.body["message"]).toMatch(says);
  });

  test("counts as a connection while it is open", async () => {
    await using testServer = await startPicoServer({ config: { max_connections: 1 } });
    const stream = await openEventStream(testServer, "s1");
    expect(await testServer.sendRaw("/pico", { lines: [...wsLines, bearer] })).toMatchObject(
      rejection(503, "too_many_connections"),
    );
    expect(await fetchJson(testServer.port, "/pico/events?session_id=s2")).toMatchObject(
      rejection(503, "too_many_connections"),
    );
    expect(testServer.services.picoServer.connections()).toMatchObject([
      { session: "s1", method: "header" },
    ]);
    stream.r.destroy();
    expect(await testServer.fact("pico-server:disconnected")).toMatchObject({
      session: "s1",
      initiator: "client",
    });
    await testServer.connect();
  });

  test("closes when its token is rotated or removed", async () => {
    await using testServer = await startPicoServer();
    const stream = await openEventStream(testServer, "s1");
    const { version } = testServer.services.tokens.info("pico");
    await testServer.services.tokenSecrets.replace("pico", {
      value: `${token}-new`,
      expect: version,
    });
    await stream.ended;
    expect(await testServer.fact("pico-server:disconnected")).toMatchObject({
      code: 1012,
      initiator: "server",
    });
    const other = await openEventStream(testServer, "s1", { authorization: `Bearer ${token}-new` });
    testServer.removeToken();
    await other.ended;
  });

  test("sends keep-alive comments for proxies", async () => {
    await using testServer = await startPicoServer();
    const stream = await openEventStream(testServer, "s1");
    await waitFor(() => stream.last() || undefined);
    await testServer.pass(30);
    await waitFor(() => stream.comments() > 0);
  });

  test("closes when the kernel stops", async () => {
    const testServer = await startPicoServer();
    const stream = await openEventStream(testServer, "s1");
    await testServer.kernel.stop();
    await stream.ended;
  });
});
