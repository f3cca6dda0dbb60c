import { describe, expect, test } from "vitest";
import { startPicoServer } from "../../../support/pico-server-harness.ts";

describe("messages of the application", () => {
  test("reach every connection of the session and no other", async () => {
    await using testServer = await startPicoServer();
    const connect = (session: string) => testServer.connect(`/pico?session_id=${session}`);
    const [first, second, other] = await Promise.all([connect("s1"), connect("s1"), connect("s2")]);
    const to = { channel: "pico", session: "s1" };
    const { channels } = testServer.services;
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
          ({ session_id, timestamp }) =>
            session_id === "s1" && timestamp === testServer.clock.now(),
        ),
      ).toBe(true);
    }
    await other.settled();
    expect(other.frames).toEqual([]);
  });

  test("fail with too_large above 512 KiB", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect("/pico?session_id=s1");
    await testServer.say("s1", "");
    const empty = JSON.stringify(await peer.next()).length;
    await testServer.say("s1", "x".repeat(512 * 1024 - empty));
    expect((await peer.next()).payload?.["content"]).toHaveLength(512 * 1024 - empty);
    await expect(testServer.say("s1", "x".repeat(512 * 1024 - empty + 1))).rejects.toMatchObject({
      code: "too_large",
    });
    const change = { content: "x".repeat(600_000) };
    await expect(
      testServer.services.channels.update({ channel: "pico", session: "s1" }, "id", change),
    ).rejects.toMatchObject({ code: "too_large" });
  });

  test("allow attachments by https or inline only", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect("/pico?session_id=s1");
    const send = (attachment: object) =>
      testServer.services.channels.send(
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
    await expect(send({})).rejects.toMatchObject({ code: "reply_invalid" });
  });
});
