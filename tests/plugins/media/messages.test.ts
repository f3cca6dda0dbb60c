import { text } from "node:stream/consumers";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import type { Message } from "../../../plugins/channels/index.ts";
import { startMediaServer } from "../../support/media-server.ts";
import { connect, type ChatMessage } from "../../../lib/pico-link/client.ts";
import { token, waitFor } from "../../support/pico-server-harness.ts";

const pdf = { "content-type": "application/pdf", "content-disposition": 'x; filename="a.pdf"' };

async function start() {
  const seen: Message[] = [];
  const server = await startMediaServer({ app: (message) => void seen.push(message) });
  return { ...server, seen, received: () => waitFor(() => seen.shift()) };
}

describe("message with a file", () => {
  test("reaches the application, which opens the file", async () => {
    await using server = await start();
    const { id, sha256 } = await server.upload("%PDF-1.7 text", { headers: pdf });
    const client = await server.connect("/pico?session_id=s");
    client.send({ type: "message.send", id: "1", payload: { content: "read", media: [{ id }] } });
    const { media } = await server.received();
    expect(media).toEqual([
      {
        id,
        type: "application/pdf",
        filename: "a.pdf",
        size: 13,
        sha256,
        url: `/pico/media/${id}`,
        open: expect.any(Function),
      },
    ]);
    expect(await text(Readable.from(await media[0]!.open!()))).toBe("%PDF-1.7 text");
  });

  test("needs no text", async () => {
    await using server = await start();
    const { id } = await server.upload("%PDF-1.7 text", { headers: pdf });
    const body = JSON.stringify({ session_id: "s", media: [{ id }] });
    const headers = { "content-type": "application/json" };
    const response = await server.request("/pico/messages", { method: "POST", body, headers });
    expect(response.status).toBe(202);
    expect((await server.received()).media).toHaveLength(1);
  });

  test("keeps the order of the messages of its connection", async () => {
    await using server = await start();
    const { id } = await server.upload("file");
    const client = await server.connect("/pico?session_id=s");
    client.send({ type: "message.send", payload: { content: "first", media: [{ id }] } });
    client.send({ type: "message.send", payload: { content: "second" } });
    expect((await server.received()).content).toBe("first");
    expect((await server.received()).content).toBe("second");
  });

  test("rejects a file of another session", async () => {
    await using server = await start();
    const { id } = await server.upload("file", { session: "other" });
    const client = await server.connect("/pico?session_id=s");
    client.send({ type: "message.send", id: "7", payload: { content: "x", media: [{ id }] } });
    expect(await client.next()).toMatchObject({
      type: "error",
      payload: { code: "unknown_media", request_id: "7" },
    });
    const body = JSON.stringify({ session_id: "s", content: "x", media: [{ id }] });
    const headers = { "content-type": "application/json" };
    const response = await server.request("/pico/messages", { method: "POST", body, headers });
    expect([response.status, await response.json()]).toMatchObject([
      422,
      { error: "unknown_media" },
    ]);
    expect(server.seen).toEqual([]);
  });

  test("recognises a repeated message by its file", async () => {
    await using server = await start();
    const [one, other] = [await server.upload("one"), await server.upload("other")];
    const client = await server.connect("/pico?session_id=s&pico_ext=1");
    const send = (id: string): void =>
      client.send({ type: "message.send", id: "7", payload: { content: "x", media: [{ id }] } });
    send(one.id);
    send(one.id);
    send(other.id);
    const codes = () =>
      client.frames.flatMap(({ payload }) => payload?.["status"] ?? payload?.["code"] ?? []);
    await waitFor(() => codes().length === 3);
    expect(codes()).toEqual(["accepted", "duplicate", "id_reused"]);
  });
});

describe("answer with a file", () => {
  test("carries its address, size, type and name", async () => {
    await using server = await start();
    const client = await server.connect("/pico?session_id=s");
    const { media, channels } = server.services;
    const address = { channel: "pico", session: "s" };
    const file = await media.put(address, Readable.from([Buffer.from("a,b")]), {
      contentType: "text/csv",
      filename: "table.csv",
    });
    const { id, size, filename, contentType: type } = file;
    const attachments = [{ id, size, filename, type }];
    await channels.send(address, { content: "done", attachments });
    const frame = await client.next();
    expect(frame.payload?.["attachments"]).toEqual([
      {
        type: "file",
        url: `/pico/media/${id}`,
        filename: "table.csv",
        content_type: "text/csv",
        size: 3,
      },
    ]);
    expect(await (await server.request(`/pico/media/${id}`)).text()).toBe("a,b");
  });

  test.each([
    ["image", "image/png", "cat.png"],
    ["audio", "audio/mpeg", "hello.mp3"],
    ["video", "video/mp4", "cat.mp4"],
    ["file", "application/pdf", "a.pdf"],
  ])("has the form of the original server: %s", async (kind, contentType, filename) => {
    await using server = await startMediaServer();
    const { media, channels } = server.services;
    const address = { channel: "pico", session: "s" };
    const client = await server.connect("/pico/ws?session_id=s");
    const details = { contentType, filename };
    const { id, size } = await media.put(address, Readable.from([Buffer.from("data")]), details);
    const attachments = [{ id, size, filename, type: contentType }];
    await channels.send(address, { content: "done", attachments });
    const frame = await client.next();
    const url = `/pico/media/${id}`;
    expect(frame.payload?.["attachments"]).toEqual([
      { type: kind, url, filename, content_type: contentType, size: 4 },
    ]);
    // The web chat of the original asks through its launcher, which adds the token.
    const head = await server.request(url, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "4"]);
    expect(await (await server.request(url)).text()).toBe("data");
  });

  test("repeats a received file", async () => {
    await using server = await startMediaServer({
      app: (message) => void message.reply({ content: "same", attachments: message.media }),
    });
    const { id } = await server.upload("file");
    const client = await server.connect("/pico?session_id=s");
    client.send({ type: "message.send", payload: { content: "x", media: [{ id }] } });
    const frame = await client.next();
    expect(frame.payload?.["attachments"]).toMatchObject([{ url: `/pico/media/${id}` }]);
  });
});

describe("client library", () => {
  test("sends a file by its id and loads it from the answer", async () => {
    await using server = await startMediaServer({
      app: (message) => void message.reply({ content: "same", attachments: message.media }),
    });
    const { id } = await server.upload("content of it");
    const url = `ws://127.0.0.1:${server.port}/pico`;
    const replies: ChatMessage[] = [];
    const onMessage = (message: ChatMessage): void => void replies.push(message);
    const chat = connect({ url, token, sessionId: "s", onMessage });
    await chat.send({ content: "repeat", media: [{ id }] }).accepted;
    const [attachment] = (await waitFor(() => replies[0])).attachments;
    expect(attachment).toMatchObject({ size: 13, filename: "file" });
    expect(await (await chat.fetchMedia(attachment!)).text()).toBe("content of it");
    chat.close();
  });
});

describe("MediaFiles.share", () => {
  test("gives a file of another session a new id without copying it", async () => {
    await using server = await start();
    const { id, sha256 } = await server.upload("file");
    const { media } = server.services;
    const shared = await media.share({ channel: "pico", session: "t" }, id);
    expect(shared).toMatchObject({ session: "t", sha256, size: 4 });
    expect(shared.id).not.toBe(id);
    expect(await media.list({ channel: "pico", session: "t" })).toEqual([shared]);
    const contents = (await server.stored()).filter((path) => /^..\/[0-9a-f]{64}$/.test(path));
    expect(contents).toHaveLength(1);
  });
});

describe("GET /pico", () => {
  test("names the feature and the limit", async () => {
    await using server = await start();
    const body = (await (await server.request("/pico")).json()) as Record<string, never>;
    expect(body["features"]).toContain("media");
    expect(body["limits"]).toMatchObject({ file: 2_048 * 1024 * 1024 });
  });
});
