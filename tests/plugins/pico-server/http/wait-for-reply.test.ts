import { describe, expect, test } from "vitest";
import type { Application } from "../../../../plugins/channels/index.ts";
import {
  fetchJson,
  rejection,
  startPicoServer,
  waitFor,
  type Frame,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";
import { openEventStream } from "../../../support/event-stream.ts";

describe("POST /pico/messages?wait=", () => {
  const post = (testServer: PicoTestServer, query: string, body: object = {}) =>
    fetchJson(testServer.port, `/pico/messages?${query}`, {
      method: "POST",
      body: { session_id: "s1", content: "hi", ...body },
    });
  const echo: Application = async ({ content, reply }) => void (await reply({ content }));

  test("returns the replies and a cursor after the application settled", async () => {
    await using testServer = await startPicoServer({
      app: async (message, signal) => {
        await echo(message, signal);
        await message.reply({ content: "and more" });
      },
    });
    const { status, body } = await post(testServer, "wait=30", { id: "m1" });
    const messages = body["messages"] as Frame[];
    expect([status, body["status"], body["request_id"], body["session_id"]]).toEqual([
      200,
      "accepted",
      "m1",
      "s1",
    ]);
    expect(messages.map(({ payload }) => payload?.content)).toEqual(["hi", "and more"]);
    await testServer.say("s1", "later");
    const stream = await openEventStream(testServer, "s1", {
      "last-event-id": body["cursor"] as string,
    });
    expect((await stream.next()).data.payload?.content).toBe("later");
  });

  test("waits for a reply after the application settled", async () => {
    await using testServer = await startPicoServer();
    const answer = post(testServer, "wait=30");
    await waitFor(() => testServer.services.picoServer.status().messagesIn === 1);
    await testServer.say("s1", "later");
    expect((await answer).body["messages"]).toMatchObject([{ payload: { content: "later" } }]);
  });

  test("waits for the end of a streamed reply, ignoring thoughts", async () => {
    await using testServer = await startPicoServer({
      app: async (message) => {
        message.accept();
        await message.reply({ content: "hm", kind: "thought" });
        const answer = message.stream();
        answer.write("a");
        await new Promise(setImmediate);
        answer.write("b");
        await answer.end();
      },
    });
    const messages = (await post(testServer, "wait=30")).body["messages"] as Frame[];
    expect(messages.map(({ payload }) => payload?.content)).toEqual(["hm", "a", "ab"]);
  });

  test.each([
    ["and nothing came: 202", [], 202],
    ["and something came: 200 with it", ["one moment"], 200],
  ])("ends at its time although the application is still at it, %s", async (_, texts, expected) => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => void (release = resolve));
    const app: Application = async ({ reply }) => {
      for (const content of texts) await reply({ content });
      await held;
    };
    await using testServer = await startPicoServer({ app });
    const answer = post(testServer, "wait=2", { id: "m1" });
    const counts = (): number[] => {
      const { messagesIn, messagesOut } = testServer.services.picoServer.status();
      return [messagesIn, messagesOut];
    };
    await waitFor(() => counts().join() === [1, texts.length].join());
    testServer.clock.increment(2_000);
    const { status, body } = await answer;
    const contents = ((body["messages"] ?? []) as Frame[]).map(({ payload }) => payload?.content);
    expect([status, body["status"], body["request_id"], contents]).toEqual([
      expected,
      "pending",
      "m1",
      texts,
    ]);
    release();
    // repeating the message reports its status
    expect((await post(testServer, "", { id: "m1" })).body["status"]).toBe("duplicate");
  });

  test("waits for the reply to its own message", async () => {
    const replies = new Map<string, (text: string) => unknown>();
    await using testServer = await startPicoServer({
      app: ({ content, reply }) => void replies.set(content, (text) => reply({ content: text })),
    });
    const ask = async (content: string): Promise<unknown> => {
      const answer = post(testServer, "wait=30", { content });
      await waitFor(() => replies.has(content));
      return answer.then(({ body }) =>
        (body["messages"] as Frame[]).map(({ payload }) => payload?.content),
      );
    };
    const [first, second] = [ask("one"), ask("two")];
    await waitFor(() => replies.size === 2);
    replies.get("two")!("to the second");
    expect(await second).toEqual(["to the second"]);
    replies.get("one")!("to the first");
    expect(await first).toEqual(["to the second", "to the first"]);
  });

  test("responds with 202 when no reply arrives in time", async () => {
    await using testServer = await startPicoServer();
    const answer = post(testServer, "wait=0.5");
    await waitFor(() => testServer.services.picoServer.status().messagesIn === 1);
    testServer.clock.increment(500);
    const { status, body } = await answer;
    expect([status, body]).toEqual([
      202,
      { status: "accepted", request_id: expect.any(String) as string, session_id: "s1" },
    ]);
  });

  test("leaves earlier messages for the client that reconnects", async () => {
    await using testServer = await startPicoServer({ app: echo });
    for (const text of ["one", "two"]) await testServer.say("s1", text);
    expect((await post(testServer, "wait=30")).body["messages"]).toMatchObject([
      { payload: { content: "hi" } },
    ]);
    const peer = await testServer.connect("/pico?session_id=s1");
    const came = [await peer.next(), await peer.next()];
    expect(came.map(({ payload }) => payload?.content)).toEqual(["one", "two"]);
  });

  test("waits 60 seconds at most", async () => {
    await using testServer = await startPicoServer();
    const answer = post(testServer, "wait=9999");
    await waitFor(() => testServer.services.picoServer.status().messagesIn === 1);
    testServer.clock.increment(60_000);
    expect((await answer).status).toBe(202);
  });

  test.each(["wait=soon", "wait=-1", "wait=1e3", "wait=5&wait=5"])(
    "%s is refused",
    async (query) => {
      await using testServer = await startPicoServer();
      expect(await post(testServer, query)).toMatchObject(rejection(400, "invalid_message"));
    },
  );

  test("counts as a connection while it waits", async () => {
    await using testServer = await startPicoServer({ config: { max_connections: 1 } });
    const answer = post(testServer, "wait=1");
    await waitFor(() => testServer.services.picoServer.status().connections === 1);
    expect(await post(testServer, "wait=1")).toMatchObject(rejection(503, "too_many_connections"));
    testServer.clock.increment(1_000);
    await answer;
    expect(testServer.services.picoServer.status().connections).toBe(0);
  });

  test("does not delay a kernel stop", async () => {
    const testServer = await startPicoServer({ app: () => new Promise<void>(() => undefined) });
    const answer = post(testServer, "wait=60").catch(() => undefined);
    await waitFor(() => testServer.services.picoServer.status().connections === 1);
    await testServer.kernel.stop();
    expect(await answer).toMatchObject(rejection(503, "busy"));
  });
});
