import { describe, expect, test } from "vitest";
import type { Application, Message } from "../../../../plugins/channels/index.ts";
import { stand, until } from "../../../support/pico-server-harness.ts";

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
      await using door = await stand({ app });
      const peer = await door.connect("/pico?session_id=s1");
      peer.send({ type, id: "m1", payload: { content: "hi", media: [png], hops: 1 } });
      const message = await until(() => taken[0]);
      expect(message).toMatchObject({
        channel: "pico",
        session: "s1",
        id: "m1",
        content: "hi",
        hops: 1,
        at: door.clock.now(),
      });
      expect(message.media).toEqual([
        { type: "image/png", bytes: Buffer.from("iVBORw0KGgo=", "base64") },
      ]);
    },
  );

  test("receive a reply as message.create with all ids", async () => {
    await using door = await stand({ app: echo });
    const peer = await door.connect("/pico?session_id=s1");
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi", media: png } });
    const frame = await peer.next();
    const attachments = [{ type: "image", url: png, content_type: "image/png" }];
    expect(frame).toEqual({
      type: "message.create",
      session_id: "s1",
      timestamp: door.clock.now(),
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
    await using door = await stand({ app });
    const peer = await door.connect("/pico?session_id=s1");
    const attachments = [{ type: "image", url: png, filename: "cat.png" }];
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi", attachments } });
    const { media } = await until(() => taken[0]);
    expect(media).toMatchObject([{ type: "image/png", filename: "cat.png" }]);
  });

  test("receive every documented field of a reply", async () => {
    await using door = await stand({
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
    const peer = await door.connect("/pico?session_id=s1");
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
    await using door = await stand({
      app: async ({ reply, channel, session }) => {
        const { id } = await reply({ content: "Thinking", placeholder: true });
        await door.services.channels.update({ channel, session }, id, {
          content: "42",
          final: true,
        });
      },
    });
    const peer = await door.connect("/pico?session_id=s1&pico_ext=1");
    await peer.next();
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi" } });
    expect(await peer.next()).toMatchObject({ type: "message.delete", seq: 1 });
    const placeholder = await peer.next();
    const message_id = placeholder.payload?.["message_id"];
    expect(placeholder).toEqual({
      type: "message.create",
      session_id: "s1",
      timestamp: door.clock.now(),
      payload: { message_id, content: "Thinking", request_id: "m1", placeholder: true },
    });
    expect(await peer.next()).toMatchObject({
      type: "message.update",
      seq: 2,
      payload: { message_id, content: "42", final: true },
    });
  });

  test("receive an error when the application fails after accepting", async () => {
    await using door = await stand({
      app: (message) => {
        message.accept();
        throw new Error("swordfish");
      },
    });
    const peer = await door.connect("/pico?session_id=s1");
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
    await using door = await stand();
    const peer = await door.connect();
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi" } });
    await peer.settled();
    expect(peer.frames).toEqual([]);
  });

  test("receive generated session and message ids", async () => {
    const { taken, app } = collect();
    await using door = await stand({ app });
    const peer = await door.connect();
    peer.send({ type: "message.send", payload: { content: "hi" } });
    const { session, id } = await until(() => taken[0]);
    expect(session).toMatch(/^[0-9a-f]{32}$/);
    expect(id).toMatch(/^[0-9a-f]{32}$/);
  });

  test("may arrive in binary frames", async () => {
    const { taken, app } = collect();
    await using door = await stand({ app });
    const peer = await door.connect();
    peer.ws.send(Buffer.from(JSON.stringify({ type: "message.send", payload: { content: "hi" } })));
    expect((await until(() => taken[0])).content).toBe("hi");
  });

  test("report typing as an event and respond to pings", async () => {
    const { taken, app } = collect();
    await using door = await stand({ app });
    const typing: object[] = [];
    door.kernel.on("channels:typing-changed", (fact) => void typing.push(fact));
    const peer = await door.connect("/pico?session_id=s1");
    peer.send({ type: "typing.start", id: "t" });
    peer.send({ type: "typing.stop", payload: { anything: 1 } });
    peer.send({ type: "ping", id: "p1" });
    expect(await peer.next()).toEqual({
      type: "pong",
      id: "p1",
      session_id: "s1",
      timestamp: door.clock.now(),
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
    await using door = await stand();
    const peer = await door.connect("/pico?session_id=s1");
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
    await using door = await stand({ app: null });
    const peer = await door.connect();
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi" } });
    expect(await peer.next()).toMatchObject({
      type: "error",
      payload: { code: "no_application", request_id: "m1" },
    });
  });

  test("report loop after more than four bridges", async () => {
    await using door = await stand();
    const peer = await door.connect();
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
    await using door = await stand({ app: () => Promise.reject(cause) });
    const peer = await door.connect();
    peer.send({ type: "message.send", id: "m1", payload: { content: "hi" } });
    const frame = await peer.next();
    expect(frame).toMatchObject({ type: "error", payload: { code: "internal", request_id: "m1" } });
    expect(JSON.stringify(frame)).not.toContain("fire");
    expect(door.lines.some((line) => line["err"] === cause)).toBe(true);
  });
});

describe("messages of the application", () => {
  test("reach every connection of the session and no other", async () => {
    await using door = await stand();
    const connect = (session: string) => door.connect(`/pico?session_id=${session}`);
    const [first, second, other] = await Promise.all([connect("s1"), connect("s1"), connect("s2")]);
    const to = { channel: "pico", session: "s1" };
    const { channels } = door.services;
    channels.typing(to, true);
    const { id, status } = await channels.send(to, { content: "a", kind: "thought" });
    await channels.update(to, id, { content: "ab", kind: "thought", final: true });
    await channels.remove(to, id);
    channels.typing(to, false);
    expect(status).toBe("written");
    const thought = { message_id: id, kind: "thought", thought: true };
    for (const peer of [first, second]) {
      const frames = [
        await peer.next(),
        await peer.next(),
        await peer.next(),
        await peer.next(),
        await peer.next(),
      ];
      expect(frames.map(({ type, payload }) => [type, payload])).toEqual([
        ["typing.start", undefined],
        ["message.create", { ...thought, content: "a", final: true }],
        ["message.update", { ...thought, content: "ab", final: true }],
        ["message.delete", { message_id: id }],
        ["typing.stop", undefined],
      ]);
      expect(
        frames.every(
          ({ session_id, timestamp }) => session_id === "s1" && timestamp === door.clock.now(),
        ),
      ).toBe(true);
    }
    await other.settled();
    expect(other.frames).toEqual([]);
  });

  test("fail with too_large above 512 KiB", async () => {
    await using door = await stand();
    const peer = await door.connect("/pico?session_id=s1");
    await door.say("s1", "");
    const empty = JSON.stringify(await peer.next()).length;
    await door.say("s1", "x".repeat(512 * 1024 - empty));
    expect((await peer.next()).payload?.["content"]).toHaveLength(512 * 1024 - empty);
    await expect(door.say("s1", "x".repeat(512 * 1024 - empty + 1))).rejects.toMatchObject({
      code: "too_large",
    });
    const change = { content: "x".repeat(600_000) };
    await expect(
      door.services.channels.update({ channel: "pico", session: "s1" }, "id", change),
    ).rejects.toMatchObject({ code: "too_large" });
  });

  test("allow attachments by https or inline only", async () => {
    await using door = await stand();
    const peer = await door.connect("/pico?session_id=s1");
    const send = (attachment: object) =>
      door.services.channels.send(
        { channel: "pico", session: "s1" },
        {
          content: "",
          attachments: [{ type: "application/pdf", ...attachment }],
        },
      );
    await send({ url: "https://example.org/a.pdf" });
    const attachments = [
      { type: "file", url: "https://example.org/a.pdf", content_type: "application/pdf" },
    ];
    expect((await peer.next()).payload).toMatchObject({ attachments });
    await expect(send({ url: "file:///etc/passwd" })).rejects.toMatchObject({
      code: "unsupported",
    });
    await expect(send({})).rejects.toMatchObject({ code: "unsupported" });
  });
});

describe("sessions", () => {
  test("subscribe a connection to each session it names", async () => {
    const { taken, app } = collect();
    await using door = await stand({ app });
    const peer = await door.connect("/pico?session_id=s1");
    peer.send({ type: "message.send", session_id: "s2", payload: { content: "hi" } });
    expect((await until(() => taken[0])).session).toBe("s2");
    await door.say("s2", "to the second");
    await door.say("s1", "to the first");
    expect((await peer.next()).session_id).toBe("s2");
    expect((await peer.next()).session_id).toBe("s1");
  });

  test("drop the least recently used beyond 64 per connection", async () => {
    await using door = await stand();
    const peer = await door.connect("/pico?session_id=s0");
    for (let n = 1; n < 64; n++) peer.send({ type: "typing.start", session_id: `s${n}` });
    peer.send({ type: "typing.start", session_id: "s0" });
    await peer.settled();
    await door.say("s1", "a message that is heard is a use");
    peer.send({ type: "typing.start", session_id: "s64" });
    peer.send({ type: "ping", id: "last", session_id: "s64" });
    await until(() => peer.frames.some(({ id }) => id === "last"));
    await expect(door.say("s2", "gone")).resolves.toMatchObject({ status: "buffered" });
    for (const session of ["s0", "s1", "s3", "s64"]) {
      await expect(door.say(session, "there")).resolves.toMatchObject({ status: "written" });
    }
  });

  test("keep messages for the next client and send them once", async () => {
    await using door = await stand();
    const first = await door.connect("/pico?session_id=s1");
    await door.say("s1", "one");
    expect((await first.next()).payload?.content).toBe("one");
    first.ws.close(1000);
    await door.fact("pico-server:disconnected");
    await expect(door.say("s1", "two")).resolves.toMatchObject({ status: "buffered" });
    const second = await door.connect("/pico?session_id=s1");
    expect(await second.next()).toMatchObject({
      type: "message.create",
      payload: { content: "two" },
    });
    const third = await door.connect("/pico?session_id=s1");
    await third.settled();
    await second.settled();
    expect([...second.frames, ...third.frames]).toEqual([]);
  });

  test("deliver in order per session and in parallel across sessions", async () => {
    const events: string[] = [];
    let release = (): void => undefined;
    const first = new Promise<void>((resolve) => void (release = resolve));
    const app: Application = async ({ session, id }) => {
      events.push(`${session} ${id} begins`);
      if (id === "a1") await first;
      events.push(`${session} ${id} ends`);
    };
    await using door = await stand({ app });
    const peer = await door.connect();
    const send = (session_id: string, id: string) =>
      peer.send({ type: "message.send", session_id, id, payload: { content: "x" } });
    send("a", "a1");
    send("a", "a2");
    send("b", "b1");
    await until(() => events.includes("b b1 ends"));
    expect(events).not.toContain("a a2 begins");
    release();
    await until(() => events.includes("a a2 ends"));
    const ofA = events.filter((event) => event.startsWith("a "));
    expect(ofA).toEqual(["a a1 begins", "a a1 ends", "a a2 begins", "a a2 ends"]);
  });
});
