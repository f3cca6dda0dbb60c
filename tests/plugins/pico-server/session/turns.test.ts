// Tests the turns of other devices over real sockets.
import { describe, expect, test } from "vitest";
import type { Application } from "../../../../plugins/channels/index.ts";
import { conversations } from "../../../../plugins/conversations/index.ts";
import {
  both,
  join,
  next,
  outline,
  post,
  send,
  type NumberedFrame,
} from "../../../support/extension-clients.ts";
import { bearer, startPicoServer, waitFor } from "../../../support/pico-server-harness.ts";
import { storeIn } from "../../../support/sqlite-conversations.ts";
import { createFolder } from "../../../support/sqlite-store.ts";

const echo: Application = async ({ reply, content }) => void (await reply({ content }));
const repliesLater: Application = async ({ accept, reply, content }) => {
  accept();
  await reply({ content });
};
describe("pico_can", () => {
  test("lists the known names in hello only if the client asked", async () => {
    await using service = await startPicoServer();
    const canOf = async (more: string): Promise<unknown> => {
      const client = await service.connect(`/pico?session_id=s1&pico_ext=1${more}`);
      return (await client.next()).payload?.["can"];
    };
    expect(await canOf("")).toBeUndefined();
    expect(await canOf("&pico_can=sing,turns,stop")).toEqual(["stop", "turns"]);
    expect(await canOf("&pico_can=sing")).toEqual([]);
  });

  test("rejects a stop of clients that did not ask for it", async () => {
    await using service = await startPicoServer();
    for (const more of ["", "&pico_ext=1", "&pico_ext=1&pico_can=turns", both]) {
      const client = await service.connect(`/pico?session_id=s1${more}`);
      client.send({ type: "message.stop", id: "x" });
      const error = await waitFor(() => client.frames.find(({ type }) => type === "error"));
      expect(error.payload).toMatchObject({ code: "unknown_type", request_id: "x" });
    }
  });
});

describe("message.user", () => {
  test("reaches other devices, and the sender as the number of its ack", async () => {
    await using service = await startPicoServer({ app: repliesLater });
    const phone = await join(service, both);
    const laptop = await join(service, both);
    phone.send(send("m1", "hello"));
    const [ack, answer] = await next(phone, 2);
    expect(ack).toMatchObject({ type: "message.ack", seq: 1 });
    expect(answer).toMatchObject({ type: "message.create", seq: 2 });
    const [turn, reply] = await next(laptop, 2);
    expect(turn).toEqual({
      type: "message.user",
      session_id: "s1",
      timestamp: service.clock.now(),
      epoch: ack!.epoch,
      seq: 1,
      payload: {
        message_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        request_id: "m1",
        content: "hello",
        media: [],
        attachments: [],
        sender: { id: "token:pico" },
        ["door"]: "pico",
      },
    });
    expect(reply).toMatchObject({ type: "message.create", seq: 2 });
  });

  test("precedes an answer that the application sends before it accepts", async () => {
    await using service = await startPicoServer({ app: echo });
    const phone = await join(service, both);
    const laptop = await join(service, both);
    phone.send(send("m1"));
    expect(outline(await next(laptop, 2))).toEqual(["message.user 1", "message.create 2"]);
    const frames = await next(phone, 3);
    expect(outline(frames)).toEqual(["message.delete 1", "message.create 2", "message.ack"]);
  });

  test("becomes a deletion for clients without turns", async () => {
    await using service = await startPicoServer({ app: repliesLater });
    await join(service, both);
    const sender = await join(service);
    const other = await join(service);
    sender.send(send("m1"));
    const frames = await next(sender, 3);
    expect(outline(frames)).toEqual(["message.delete 1", "message.ack", "message.create 2"]);
    expect(outline(await next(other, 2))).toEqual(["message.delete 1", "message.create 2"]);
  });

  test("has no number in memory until a client asks for it", async () => {
    await using service = await startPicoServer({ app: repliesLater });
    const phone = await join(service);
    await join(service, both, "s2");
    phone.send(send("m1"));
    expect(outline(await next(phone, 2))).toEqual(["message.ack", "message.create 1"]);
    const laptop = await join(service, both);
    phone.send(send("m2"));
    const heard = await next(laptop, 3);
    expect(outline(heard)).toEqual(["message.create 1", "message.user 2", "message.create 3"]);
    laptop.ws.close();
    await laptop.closed;
    await next(phone, 3);
    phone.send(send("m3"));
    const frames = await next(phone, 3);
    expect(outline(frames)).toEqual(["message.delete 4", "message.ack", "message.create 5"]);
  });

  test("has a number in a store although no client asks for it", async () => {
    const first = conversations({ store: storeIn(createFolder()) });
    await using service = await startPicoServer({ app: repliesLater, first });
    const phone = await join(service);
    phone.send(send("m1"));
    const frames = await next(phone, 1);
    expect(outline(frames)).toEqual(["message.delete 1"]);
    const address = `/pico?session_id=s1&pico_ext=1&resume=${frames[0]!.epoch}:0${both}`;
    const laptop = await service.connect(address);
    expect(outline(await next(laptop, 2))).toEqual(["hello", "message.user 1"]);
  });

  test("reaches its own client with waiting, also if it is rejected", async () => {
    const first = conversations({ store: storeIn(createFolder()) });
    const app: Application = ({ content }) => {
      if (content === "bad") throw Object.assign(new Error("Not today."), { expose: true });
    };
    await using service = await startPicoServer({ app, first });
    const own = await join(service, "&pico_can=waiting");
    const other = await join(service, both);
    own.send(send("m1", "good"));
    expect(outline(await next(own, 2))).toEqual(["message.user 1", "message.ack"]);
    own.send(send("m2", "bad"));
    const numbered = (client: typeof own, wanted: number): Promise<NumberedFrame> =>
      waitFor(() => (client.frames as NumberedFrame[]).find(({ seq }) => seq === wanted));
    const turn = await numbered(own, 2);
    expect(turn).toMatchObject({ type: "message.user", payload: { request_id: "m2" } });
    const end = await waitFor(() =>
      own.frames.findLast(({ type, payload }) => type === "answer.end" && payload?.["code"]),
    );
    expect(end.payload).toMatchObject({ outcome: "failed", message: "Not today." });
    other.send(send("m3", "bad"));
    const deletion = await numbered(other, 3);
    expect(deletion.type).toBe("message.delete");
  });

  test("follows a resume, and counts without turns", async () => {
    await using service = await startPicoServer({ app: repliesLater });
    const phone = await join(service, both);
    phone.send(send("m1"));
    const [ack] = await next(phone, 2);
    const resume = (more: string) =>
      service.connect(`/pico?session_id=s1&pico_ext=1&resume=${ack!.epoch}:0${more}`);
    const frames = await next(await resume(both), 3);
    expect(outline(frames)).toEqual(["hello", "message.user 1", "message.create 2"]);
    const without = await next(await resume(""), 3);
    expect(outline(without)).toEqual(["hello", "message.delete 1", "message.create 2"]);
  });

  test("leaves the bytes of plain clients and waiting requests unchanged", async () => {
    await using service = await startPicoServer({ app: echo });
    const watcher = await join(service, both);
    const plain = await service.connect("/pico?session_id=s1");
    plain.send(send("m1", "one"));
    watcher.send(send("m2", "two"));
    const posted = await post(service, "/pico/messages?wait=5", {
      session_id: "s1",
      id: "m3",
      content: "three",
    });
    const { messages } = (await posted.json()) as { messages: NumberedFrame[] };
    expect(messages.map(({ type }) => type)).toContain("message.create");
    expect(messages.map(({ type }) => type)).not.toContain("message.user");
    await waitFor(() => plain.frames.length === 3);
    await plain.settled();
    expect(plain.frames).toEqual(
      ["one", "two", "three"].map((content, index) => ({
        type: "message.create",
        payload: {
          message_id: expect.any(String) as string,
          content,
          request_id: `m${index + 1}`,
          final: true,
        },
        session_id: "s1",
        timestamp: service.clock.now(),
      })),
    );
  });

  test("does not reach plain clients that connect later", async () => {
    await using service = await startPicoServer({ app: echo });
    await post(service, "/pico/messages", { session_id: "s1", content: "one" });
    const plain = await service.connect("/pico?session_id=s1");
    expect((await plain.next()).type).toBe("message.create");
    await plain.settled();
    expect(plain.frames).toEqual([]);
  });

  test("leaves out images and text beyond the frame limit", async () => {
    await using service = await startPicoServer({
      app: repliesLater,
      config: { max_payload: 8e6 },
    });
    const laptop = await join(service, both);
    const phone = await join(service, both);
    const base64 = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(600_000)]);
    const media = [{ url: `data:image/png;base64,${base64.toString("base64")}`, filename: "a" }];
    const content = "\u{1f600}".repeat(200_000);
    phone.send({ type: "message.send", id: "m1", payload: { content, media } });
    const turn = await laptop.next();
    expect(turn.payload?.["media"]).toEqual([{ content_type: "image/png", filename: "a" }]);
    const text = String(turn.payload?.content);
    expect(text.length).toBeGreaterThan(100_000);
    expect(content.startsWith(text)).toBe(true);
    expect(text.length % 2).toBe(0);
  });

  test("reaches event streams that asked for it", async () => {
    await using service = await startPicoServer({ app: repliesLater });
    const read = async (more: string, last: string): Promise<string> => {
      const response = await fetch(
        `http://127.0.0.1:${service.port}/pico/events?session_id=s1${more}`,
        { headers: { Authorization: bearer.slice(15) } },
      );
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of response.body!) {
        text += decoder.decode(chunk as Uint8Array, { stream: true });
        if (text.includes(last)) break;
      }
      return text;
    };
    const plain = read("", "message.create");
    const full = read("&pico_can=turns", "answer.end");
    await waitFor(() => service.services.picoServer.connections().length === 2);
    await post(service, "/pico/messages", { session_id: "s1", content: "one" });
    expect(await full).toMatch(
      /id: \w+:1\ndata: .*message\.user[^]*message\.create[^]*answer\.end/,
    );
    expect(await plain).not.toMatch(/message\.user|answer\.end/);
  });
});
