// Tests stops, ends of answers and the turns of other devices over real sockets.
import { describe, expect, test } from "vitest";
import type { Application, Message } from "../../../../plugins/channels/index.ts";
import {
  bearer,
  startPicoServer,
  waitFor,
  type Client,
  type Frame,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";

type NumberedFrame = Frame & { readonly seq?: number; readonly epoch?: string };

const join = async (service: PicoTestServer, more = "", session = "s1"): Promise<Client> => {
  const client = await service.connect(`/pico?session_id=${session}&pico_ext=1${more}`);
  await client.next();
  return client;
};
const both = "&pico_can=stop,turns";
const send = (id: string, content = id) => ({ type: "message.send", id, payload: { content } });
const next = async (client: Client, count: number): Promise<NumberedFrame[]> => {
  const frames: NumberedFrame[] = [];
  while (frames.length < count) frames.push(await client.next());
  return frames;
};
const outline = (frames: readonly NumberedFrame[]): unknown[] =>
  frames.map(({ type, seq }) => (seq === undefined ? type : `${type} ${seq}`));

const echo: Application = async ({ reply, content }) => void (await reply({ content }));
const repliesLater: Application = async ({ accept, reply, content }) => {
  accept();
  await reply({ content });
};
/** Runs until it is stopped. */
const endless: Application = (message) =>
  new Promise((resolve) => {
    const answer = message.stream();
    answer.write("so far");
    message.accept();
    message.signal.addEventListener("abort", () => resolve());
  });

const post = (service: PicoTestServer, path: string, body: object) =>
  fetch(`http://127.0.0.1:${service.port}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: bearer.slice(15) },
    body: JSON.stringify(body),
  });

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
    const sender = await join(service);
    const other = await join(service);
    sender.send(send("m1"));
    const frames = await next(sender, 3);
    expect(outline(frames)).toEqual(["message.delete 1", "message.ack", "message.create 2"]);
    expect(outline(await next(other, 2))).toEqual(["message.delete 1", "message.create 2"]);
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

describe("message.stop", () => {
  test("stops an answer, ends it for all clients, and is idempotent", async () => {
    await using service = await startPicoServer({ app: endless });
    const phone = await join(service, both);
    const plain = await service.connect("/pico?session_id=s1");
    phone.send(send("m1"));
    await waitFor(() => plain.frames.length === 1);
    phone.send({ type: "message.stop", id: "x", payload: { request_id: "m1" } });
    const stopped = [{ request_id: "m1", status: "stopping" }];
    const ack = await waitFor(() => phone.frames.find(({ type }) => type === "stop.ack"));
    expect(ack.payload).toEqual({ request_id: "x", stopped });
    const end = await waitFor(() => phone.frames.find(({ type }) => type === "answer.end"));
    expect(end.payload).toMatchObject({ request_id: "m1", outcome: "stopped" });
    expect(plain.frames.at(-1)).toMatchObject({
      type: "message.update",
      payload: { content: "so far", final: true },
    });
    phone.send({ type: "message.stop", id: "y", payload: { request_id: "m1" } });
    phone.send({ type: "message.stop", id: "z", payload: { request_id: "other" } });
    await waitFor(() => phone.frames.filter(({ type }) => type === "stop.ack").length === 3);
    const results = phone.frames.filter(({ type }) => type === "stop.ack").slice(1);
    expect(results.map(({ payload }) => payload?.["stopped"])).toEqual([
      [{ request_id: "m1", status: "over" }],
      [{ request_id: "other", status: "unknown" }],
    ]);
  });

  test("rejects unaccepted messages as stopped, also when repeated", async () => {
    const runs: Message[] = [];
    const app: Application = (message) => {
      runs.push(message);
      return new Promise((resolve) => message.signal.addEventListener("abort", () => resolve()));
    };
    await using service = await startPicoServer({ app });
    const phone = await join(service, both);
    const laptop = await join(service, both);
    phone.send(send("m1"));
    phone.send(send("m2"));
    await waitFor(() => runs.length === 1);
    await phone.settled();
    phone.send({ type: "message.stop", id: "x" });
    const ack = await waitFor(() => phone.frames.find(({ type }) => type === "stop.ack"));
    const removed = { request_id: "m2", status: "removed" };
    const stopping = { request_id: "m1", status: "stopping" };
    expect(ack.payload?.["stopped"]).toEqual([removed, stopping]);
    phone.send(send("m1"));
    await waitFor(() => phone.frames.filter(({ type }) => type === "error").length === 3);
    const errors = phone.frames.filter(({ type }) => type === "error");
    expect(errors.map(({ payload }) => payload?.["code"])).toEqual(Array(3).fill("stopped"));
    await laptop.settled();
    expect(laptop.frames.map(({ type }) => type)).not.toContain("message.user");
  });

  test("repeats the end of an answer after a resume", async () => {
    await using service = await startPicoServer({ app: repliesLater });
    const phone = await join(service, both);
    phone.send(send("m1"));
    const [ack] = await next(phone, 3);
    const again = await service.connect(
      `/pico?session_id=s1&pico_ext=1&resume=${ack!.epoch}:2${both}`,
    );
    expect(outline(await next(again, 2))).toEqual(["hello", "answer.end"]);
    const fresh = await join(service, both);
    await fresh.settled();
    expect(fresh.frames.map(({ type }) => type)).not.toContain("answer.end");
  });
});

describe("POST /pico/stop", () => {
  test("stops messages of the session", async () => {
    await using service = await startPicoServer({ app: endless });
    const phone = await join(service);
    phone.send(send("m1"));
    await waitFor(() => phone.frames.some(({ type }) => type === "message.ack"));
    const body = { session_id: "s1", request_id: "m1" };
    const response = await post(service, "/pico/stop", body);
    expect([response.status, await response.json()]).toEqual([
      200,
      { stopped: [{ request_id: "m1", status: "stopping" }] },
    ]);
    const all = await post(service, "/pico/stop", { session_id: "other" });
    expect(await all.json()).toEqual({ stopped: [] });
  });

  test("rejects bodies without a session, other methods and wrong tokens", async () => {
    await using service = await startPicoServer({ app: endless });
    expect((await post(service, "/pico/stop", {})).status).toBe(400);
    expect((await post(service, "/pico/stop", { session_id: 7 })).status).toBe(400);
    const address = `http://127.0.0.1:${service.port}/pico/stop`;
    expect((await fetch(address, { method: "POST" })).status).toBe(401);
    const headers = { Authorization: bearer.slice(15) };
    expect((await fetch(address, { headers })).status).toBe(405);
    expect((await fetch(address, { method: "POST", headers })).status).toBe(415);
  });

  test("shares the rate limit of messages", async () => {
    await using service = await startPicoServer({ config: { message_rate: 1, message_burst: 2 } });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1)
      statuses.push((await post(service, "/pico/stop", { session_id: "s1" })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });
});
