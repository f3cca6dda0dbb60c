// Tests the socket of the chat for networks that block WebSockets, against a real HTTP server.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { EventSocket } from "../../../../../plugins/dashboard/pages/chat/state/event-socket.ts";

/** Node 20 lacks it. */
class CloseEventOfNode extends Event {
  readonly code: number;

  constructor(type: string, { code }: { readonly code: number }) {
    super(type);
    this.code = code;
  }
}
beforeAll(() => vi.stubGlobal("CloseEvent", CloseEventOfNode));
afterAll(() => vi.unstubAllGlobals());

type Answer = readonly [status: number, body: object | string];

/** Starts a server whose posts the test answers, and connects to it. */
async function start(answer: (path: string, body: Record<string, unknown>) => Answer | undefined) {
  const requests: { path: string; body: Record<string, unknown> }[] = [];
  const waiting: (() => void)[] = [];
  let stream: ServerResponse | undefined;
  let streamRequest: IncomingMessage | undefined;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url!;
    if (path.startsWith("/door/pico/events")) {
      [stream, streamRequest] = [response, request];
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    requests.push({ path, body });
    const reply = answer(path, body);
    const send = ([status, text]: Answer): void =>
      void response.writeHead(status).end(typeof text === "string" ? text : JSON.stringify(text));
    if (reply) send(reply);
    else waiting.push(() => send([202, { status: "accepted" }]));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const query = "session_id=s&pico_ext=1&pico_can=stop&resume=e:4&conn=secret";
  const socket = new EventSocket(`ws://127.0.0.1:${port}/door/pico?${query}`);
  const events: unknown[] = [];
  for (const type of ["open", "message", "close"])
    socket.addEventListener(type, (event) => {
      if (type !== "message") return events.push([type, (event as CloseEventOfNode).code]);
      return events.push(JSON.parse((event as MessageEvent<string>).data));
    });
  await expect.poll(() => stream).toBeDefined();
  return {
    socket,
    events,
    requests,
    stream: stream!,
    request: streamRequest!,
    accept: () => waiting.shift()?.(),
    send: (id: string, content = id) =>
      socket.send(JSON.stringify({ type: "message.send", id, payload: { content } })),
    async [Symbol.asyncDispose]() {
      socket.close();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const accepted: Answer = [202, { status: "accepted" }];
const ack = (request_id: string) => ({
  type: "message.ack",
  payload: { request_id, status: "accepted" },
});

describe("EventSocket", () => {
  test("resumes and adds the positions of events to their frames", async () => {
    await using service = await start(() => accepted);
    const { stream, request, events } = service;
    expect(request.url).toBe("/door/pico/events?session_id=s&pico_ext=1&pico_can=stop");
    expect([request.method, request.headers["last-event-id"]]).toEqual(["POST", "e:4"]);
    stream.write('retry: 1000\nid: e:4\n\n:\n\ndata: {"type":"hello"}\n\nid: e:5\nda');
    await expect.poll(() => events).toEqual([["open", undefined], { type: "hello" }]);
    stream.write('ta: {"type":"message.create","payload":{"content":"ä: b"}}\n\n');
    const create = { type: "message.create", seq: 5, epoch: "e", payload: { content: "ä: b" } };
    await expect.poll(() => events.at(-1)).toEqual(create);
    stream.end();
    await expect.poll(() => events.at(-1)).toEqual(["close", 1006]);
  });

  test("sends messages in order, the next one once the last is settled", async () => {
    await using service = await start(() => undefined);
    const { requests, events } = service;
    for (const id of ["a", "b"]) service.send(id);
    await expect.poll(() => requests).toHaveLength(1);
    service.accept();
    await expect.poll(() => requests).toHaveLength(2);
    service.accept();
    await expect.poll(() => events).toEqual([ack("a"), ack("b")]);
    expect(requests[1]).toEqual({
      path: "/door/pico/messages",
      body: { session_id: "s", id: "b", content: "b" },
    });
  });

  test("stops messages that have not been sent", async () => {
    const stopped = [{ request_id: "a", status: "stopping" }];
    await using service = await start((path) =>
      path.endsWith("/stop") ? [200, { stopped }] : undefined,
    );
    const { events, requests, socket } = service;
    for (const id of ["a", "b"]) service.send(id);
    await expect.poll(() => requests).toHaveLength(1);
    socket.send(JSON.stringify({ type: "message.stop", id: "x", payload: {} }));
    const error = { request_id: "b", code: "stopped", message: "" };
    await expect
      .poll(() => events)
      .toEqual([
        { type: "error", payload: error },
        { type: "stop.ack", payload: { request_id: "x", stopped } },
      ]);
    service.accept();
    await expect.poll(() => events.at(-1)).toEqual(ack("a"));
    expect(requests.map(({ path }) => path)).toEqual(["/door/pico/messages", "/door/pico/stop"]);
  });

  test("repeats a message after the answer of a proxy, and reports errors", async () => {
    const refused = { error: "application_refused", message: "No." };
    const answers: Answer[] = [[502, "<html>"], [422, refused], accepted, [413, "<html>"]];
    await using service = await start(() => answers.shift());
    for (const id of ["a", "b", "c"]) service.send(id);
    const { events } = service;
    await expect.poll(() => events, { timeout: 10_000 }).toHaveLength(3);
    const error = { request_id: "a", code: "application_refused", message: "No." };
    const large = { request_id: "c", code: "internal" };
    expect(events).toMatchObject([
      { type: "error", payload: error },
      ack("b"),
      { type: "error", payload: large },
    ]);
  });

  test.each([
    [401, "token_missing"],
    [503, "unavailable"],
  ])("closes after a rejection with %i", async (status, error) => {
    await using service = await start(() => [status, { error }]);
    service.send("a");
    await expect.poll(() => service.events).toEqual([["close", 1006]]);
  });
});
