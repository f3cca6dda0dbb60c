import { describe, expect, test } from "vitest";
import type { Application, Message } from "../../../../plugins/channels/index.ts";
import { startPicoServer, waitFor } from "../../../support/pico-server-harness.ts";

const png = "data:image/png;base64,iVBORw0KGgo=";
const echo: Application = async ({ content, media, reply }) => {
  await reply({ content, ...(media.length > 0 && { attachments: media }) });
};
const collect = () => {
  const taken: Message[] = [];
  const app: Application = (message) => void taken.push(message);
  return { taken, app };
};

describe("messages of a client", () => {
  test.each(["message.send", "media.send"])(
    "reach the application with all fields (%s)",
    async (type) => {
      const { taken, app } = collect();
      await using testServer = await startPicoServer({ app });
      const peer = await testServer.connect("/pico?session_id=s1");
      peer.send({ type, id: "m1", payload: { content: "hi", media: [png], hops: 1 } });
      const message = await waitFor(() => taken[0]);
      expect(message).toMatchObject({
        channel: "pico",
        session: "s1",
        id: "m1",
        content: "hi",
        hops: 1,
        at: testServer.clock.now(),
      });
      expect(message.media).toEqual([
        { type: "image/png", bytes: Buffer.from("iVBORw0KGgo=", "base64") },
      ]);
    },
  );

  test("receive a reply as message.create with all ids", async () => {
    await using testServer = await startPicoServer({ app: echo });
    const peer = await testServer.connect("/pico?session_id=s1");
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi", media: png } });
    const frame = await peer.next();
    const attachments = [{ type: "image", url: png, content_type: "image/png" }];
    expect(frame).toEqual({
      type: "message.create",
      session_id: "s1",
      timestamp: testServer.clock.now(),
      payload: {
        message_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        content: "hi",
        request_id: "m1",
        final: true,
        attachments,
      },
    });
  });

  test("keep the filename of an attachment", async () => {
    const { taken, app } = collect();
    await using testServer = await startPicoServer({ app });
    const peer = await testServer.connect("/pico?session_id=s1");
    const attachments = [{ type: "image", url: png, filename: "cat.png" }];
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi", attachments } });
    const { media } = await waitFor(() => taken[0]);
    expect(media).toMatchObject([{ type: "image/png", filename: "cat.png" }]);
  });

  test("receive every documented field of a reply", async () => {
    await using testServer = await startPicoServer({
      app: async ({ reply }) =>
        void (await reply({
          content: "hi",
          model: "large",
          contextUsage: {
            used: 1,
            total: 2,
            history: 3,
            compressAt: 4,
            summarizeAt: 5,
            usedPercent: 50,
          },
          attachments: [{ type: "image", url: "https://example.org/a", filename: "a.png" }],
        })),
    });
    const peer = await testServer.connect("/pico?session_id=s1");
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi" } });
    const { payload } = (await peer.next()) as { payload: object };
    expect(payload).toEqual({
      message_id: expect.any(String) as string,
      content: "hi",
      request_id: "m1",
      final: true,
      model_name: "large",
      context_usage: {
        used_tokens: 1,
        total_tokens: 2,
        history_tokens: 3,
        compress_at_tokens: 4,
        summarize_at_tokens: 5,
        used_percent: 50,
      },
      attachments: [{ type: "image", url: "https://example.org/a", filename: "a.png" }],
    });
  });

  test("show an unnumbered placeholder until the final update", async () => {
    await using testServer = await startPicoServer({
      app: async ({ reply, channel, session }) => {
        const { id } = await reply({ content: "Thinking", placeholder: true });
        await testServer.services.channels.update({ channel, session }, id, {
          content: "42",
          final: true,
        });
      },
    });
    const peer = await testServer.connect("/pico?session_id=s1&pico_ext=1");
    await peer.next();
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi" } });
    const placeholder = await peer.next();
    const message_id = placeholder.payload?.["message_id"];
    expect(placeholder).toEqual({
      type: "message.create",
      session_id: "s1",
      timestamp: testServer.clock.now(),
      payload: { message_id, content: "Thinking", request_id: "m1", placeholder: true },
    });
    expect(await peer.next()).toMatchObject({
      type: "message.update",
      seq: 1,
      payload: { message_id, content: "42", final: true },
    });
  });

  test("receive an error when the application fails after accepting", async () => {
    await using testServer = await startPicoServer({
      app: (message) => {
        message.accept();
        throw new Error("swordfish");
      },
    });
    const peer = await testServer.connect("/pico?session_id=s1");
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi" } });
    expect(await peer.next()).toMatchObject({
      type: "error",
      session_id: "s1",
      payload: {
        code: "internal",
        message: expect.not.stringContaining("swordfish") as string,
        request_id: "m1",
      },
    });
  });

  test("receive no acknowledgement on a plain connection", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect();
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi" } });
    await peer.settled();
    expect(peer.frames).toEqual([]);
  });

  test("receive generated session and message ids", async () => {
    const { taken, app } = collect();
    await using testServer = await startPicoServer({ app });
    const peer = await testServer.connect();
    peer.send({ type: "message.send", payload: { content: "hi" } });
    const { session, id } = await waitFor(() => taken[0]);
    expect(session).toMatch(/^[0-9a-f]{32}$/);
    expect(id).toMatch(/^[0-9a-f]{32}$/);
  });

  test("may arrive in binary frames", async () => {
    const { taken, app } = collect();
    await using testServer = await startPicoServer({ app });
    const peer = await testServer.connect();
    peer.ws.send(Buffer.from(JSON.stringify({ type: "message.send", payload: { content: "hi" } })));
    expect((await waitFor(() => taken[0])).content).toBe("hi");
  });

  test("report typing as an event and respond to pings", async () => {
    const { taken, app } = collect();
    await using testServer = await startPicoServer({ app });
    const typing: object[] = [];
    testServer.kernel.on("channels:typing-changed", (fact) => void typing.push(fact));
    const peer = await testServer.connect("/pico?session_id=s1");
    peer.send({ type: "typing.start", id: "t" });
    peer.send({ type: "typing.stop", payload: { anything: 1 } });
    peer.send({ type: "ping", id: "p1" });
    expect(await peer.next()).toEqual({
      type: "pong",
      id: "p1",
      session_id: "s1",
      timestamp: testServer.clock.now(),
    });
    expect(typing).toEqual([true, false].map((on) => ({ channel: "pico", session: "s1", on })));
    expect(taken).toEqual([]);
  });
});

const large = "x".repeat(1_048_577);

describe("error frames", () => {
  test.each<[string, string, string]>([
    ["invalid_message", "no JSON", "hello"],
    [
      "invalid_message",
      "a wrong field",
      '{"type":"message.send","id":"m1","payload":{"content":5}}',
    ],
    ["unknown_type", "an unknown type", '{"type":"message.sing","id":"m1"}'],
    [
      "invalid_media",
      "a medium by URL",
      '{"type":"media.send","id":"m1","payload":{"media":"https://a.example"}}',
    ],
    [
      "empty_content",
      "blank content",
      '{"type":"message.send","id":"m1","payload":{"content":" "}}',
    ],
    [
      "too_large",
      "content over 1 MiB",
      `{"type":"message.send","id":"m1","payload":{"content":"${large}"}}`,
    ],
  ])("%s for %s", async (code, _, text) => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect("/pico?session_id=s1");
    peer.send(text);
    const { type, payload, session_id } = await peer.next();
    expect({ type, session_id, code: payload?.code }).toEqual({
      type: "error",
      session_id: "s1",
      code,
    });
    if (text.includes('"id"')) expect(payload?.request_id).toBe("m1");
    await peer.settled();
  });

  test("report no_application without an application", async () => {
    await using testServer = await startPicoServer({ app: null });
    const peer = await testServer.connect();
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi" } });
    expect(await peer.next()).toMatchObject({
      type: "error",
      payload: { code: "no_application", request_id: "m1" },
    });
  });

  test("report loop after more than four bridges", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect();
    peer.send({
      type: "message.send",
      id: "m1",
      session_id: "other",
      payload: { content: "hi", hops: 5 },
    });
    expect(await peer.next()).toMatchObject({
      type: "error",
      session_id: "other",
      payload: { code: "loop", request_id: "m1" },
    });
  });

  test("report internal without details and log the cause", async () => {
    const cause = new Error("the database at 10.0.0.5 is on fire");
    await using testServer = await startPicoServer({ app: () => Promise.reject(cause) });
    const peer = await testServer.connect();
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi" } });
    const frame = await peer.next();
    expect(frame).toMatchObject({ type: "error", payload: { code: "internal", request_id: "m1" } });
    expect(JSON.stringify(frame)).not.toContain("fire");
    expect(testServer.lines.some((line) => line["err"] === cause)).toBe(true);
  });
});
