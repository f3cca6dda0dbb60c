// Tests that clients with unfinished requests or unread responses delay no other clients.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createFolder } from "../support/sqlite-store.ts";
import { startProtocols, tokens, type ProtocolService } from "../support/protocol-service.ts";

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function open(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined).pause();
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
}

const head = (path: string, token: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
  `Authorization: Bearer ${token}\r\nContent-Length: ${length}\r\n\r\n`;

const json = (path: string, token: string, body: object, origin: string): Promise<Response> =>
  fetch(`${origin}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const question = { role: "user", content: "hi" } as const;
const openaiBody = { model: "doorward", messages: [question] };
const aiSdkBody = {
  id: "c1",
  message: { id: "m1", role: "user", parts: [{ type: "text", text: "hi" }] },
};
const agUiBody = {
  threadId: "t1",
  runId: "r1",
  messages: [{ id: "q1", ...question }],
  tools: [],
  context: [],
  state: {},
  forwardedProps: {},
};

/** Path, token, and a body that is accepted. */
const addresses = [
  ["/v1/chat/completions", tokens.openai, openaiBody, 200],
  ["/v1/responses", tokens.openai, { model: "doorward", input: "hi" }, 200],
  ["/ai/chat", tokens.ai_sdk, aiSdkBody, 200],
  ["/ag-ui", tokens.ag_ui, agUiBody, 200],
  ["/pico/messages", tokens.pico, { session_id: "s1", content: "hi" }, 202],
  ["/pico/stop", tokens.pico, { session_id: "s1" }, 200],
  ["/login", tokens.launcher, { token: tokens.launcher }, 200],
] as const;

describe("requests with unfinished bodies", () => {
  test.each(addresses)("delay no other client of %s", async (path, token, body, status) => {
    await using service = await startProtocols({ config: { max_requests: 4 } });
    const { origin } = service;
    for (let index = 0; index < 40; index++)
      (await open(origin)).write(`${head(path, token, 1_000)}{"unfinished": `);
    const response = await json(path, token, body, origin);
    expect([response.status, await response.text()]).toEqual([status, expect.any(String)]);
  });
});

/** Opens connections that ask and read nothing, until the service has answered all of them. */
async function askUnread(
  service: ProtocolService,
  count: number,
  request: (index: number) => string,
): Promise<void> {
  const readable: Promise<unknown>[] = [];
  for (let index = 0; index < count; index++) {
    const socket = await open(service.origin);
    readable.push(once(socket, "readable"));
    socket.write(request(index));
  }
  await Promise.all(readable);
}

describe("unread answers", () => {
  test("take limited memory, and delay no short answers", async () => {
    await using service = await startProtocols();
    service.state.handler = async ({ content, reply }) => {
      const parts = content === "long" ? 20 : 1;
      for (let part = 0; part < parts; part++)
        await reply({ content: "x".repeat(400_000 / (content === "long" ? 1 : 1_000)) });
    };
    const body = (content: string) => ({
      model: "doorward",
      messages: [{ role: "user", content }],
    });
    const text = JSON.stringify(body("long"));
    await askUnread(
      service,
      6,
      () => head("/v1/chat/completions", tokens.openai, text.length) + text,
    );
    const path = "/v1/chat/completions";
    const long = await json(path, tokens.openai, body("long"), service.origin);
    expect(long.status).toBe(429);
    expect(long.headers.get("x-should-retry")).toBe("false");
    expect((await json(path, tokens.openai, body("short"), service.origin)).status).toBe(200);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect
      .poll(async () => (await json(path, tokens.openai, body("long"), service.origin)).status)
      .toBe(200);
  });

  test("keep their place among parallel requests until they are sent", async () => {
    await using service = await startProtocols({ config: { max_requests: 2 } });
    service.state.handler = async ({ reply }) => {
      for (let part = 0; part < 20; part++) await reply({ content: "x".repeat(400_000) });
    };
    const text = JSON.stringify(openaiBody);
    await askUnread(
      service,
      2,
      () => head("/v1/chat/completions", tokens.openai, text.length) + text,
    );
    const again = (): Promise<Response> =>
      json("/v1/chat/completions", tokens.openai, openaiBody, service.origin);
    expect((await again()).status).toBe(429);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(async () => (await again()).status).toBe(200);
  });
});

describe("pages of a conversation", () => {
  test.each([
    ["/pico/history?session_id=s1&limit=200", tokens.pico, 503],
    ["/ai/chat/s1/messages", tokens.ai_sdk, 429],
    ["/api/conversations/ID", tokens.launcher, 503],
    ["/api/conversations/ID/export", tokens.launcher, 503],
  ])("take limited memory while %s is unread", async (path, token, status) => {
    await using service = await startProtocols({
      home: createFolder(),
      config: { sessions: "shared" },
    });
    service.state.handler = async ({ reply }) => {
      for (let part = 0; part < 40; part++) await reply({ content: "x".repeat(400_000) });
    };
    const sent = { session_id: "s1", content: "hi" };
    const posted = await json("/pico/messages?wait=30", tokens.pico, sent, service.origin);
    expect(posted.status).toBe(200);
    await posted.arrayBuffer();
    const [found] = (await service.kernel.services.conversations.list()).items;
    const url = path.replace("ID", found!.id);
    const request = `GET ${url} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    await askUnread(service, 8, () => request);
    const get = (): Promise<Response> =>
      fetch(`${service.origin}${url}`, { headers: { authorization: `Bearer ${token}` } });
    const refused = await get();
    expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([
      status,
      expect.any(Number),
    ]);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(async () => (await get()).status).toBe(200);
  });
});

describe("GET /pico/events", () => {
  test("replays nothing while too many large responses are unread", async () => {
    await using service = await startProtocols({ config: { sessions: "shared" } });
    const part = "x".repeat(395_000);
    service.state.handler = async ({ content, reply }) => {
      for (let count = content === "long" ? 21 : 1; count > 0; count--)
        await reply({ content: part });
    };
    const sent = { session_id: "s1", content: "short" };
    const posted = await json("/pico/messages?wait=30", tokens.pico, sent, service.origin);
    const { cursor } = (await posted.json()) as { cursor: string };
    const start = `${cursor.split(":")[0]}:0`;
    const headers = { authorization: `Bearer ${tokens.pico}`, "last-event-id": start };
    /** The first line of the stream: at a refusal, the time after which to return. */
    const readFirst = async (): Promise<string> => {
      const { body } = await fetch(`${service.origin}/pico/events?session_id=s1`, { headers });
      const reader = body!.getReader();
      const { value } = await reader.read();
      await reader.cancel();
      return new TextDecoder().decode(value).split("\n")[0]!;
    };
    expect(await readFirst()).toBe("retry: 1000");
    const text = JSON.stringify({ ...openaiBody, messages: [{ role: "user", content: "long" }] });
    await askUnread(
      service,
      4,
      () => head("/v1/chat/completions", tokens.openai, text.length) + text,
    );
    expect(await readFirst()).toBe("retry: 5000");
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(readFirst).toBe("retry: 1000");
  });
});
