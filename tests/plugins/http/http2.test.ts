// Serves Doorward on an HTTP/2 server of a host, and refuses servers that cannot serve it.
import { once } from "node:events";
import { createServer, get } from "node:https";
import {
  connect,
  createServer as createPlainHttp2,
  createSecureServer,
  type ClientHttp2Session,
} from "node:http2";
import { createServer as createTcp, type AddressInfo } from "node:net";
import { WebSocket } from "ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { application, channels } from "../../../plugins/channels/index.ts";
import { http, type HttpOptions } from "../../../plugins/http/index.ts";
import { openai } from "../../../plugins/protocols/openai/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";
import { selfSigned } from "./certificate.ts";

const token = "correct-horse-battery-staple-".repeat(2);
const certificate = selfSigned();

async function startHost(handles = true) {
  const server = createSecureServer(
    { ...certificate, allowHTTP1: true },
    handles ? (request, response) => void response.end(`theirs ${request.url}`) : undefined,
  );
  const { log, lines } = createCapturedLog();
  const kernel = createKernel(
    [
      tokenStore(memory({ pico: token, openai: token })),
      channels(),
      http({ server }),
      picoServer(),
      openai(),
      application(async ({ content, reply }) => void (await reply({ content: `re ${content}` }))),
    ],
    {
      log,
      config: {
        "channels.pico": { enabled: true, drain_timeout: 0 },
        "channels.openai": { enabled: true },
      },
    },
  );
  await kernel.start();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(async () => {
    session.destroy();
    await kernel.stop();
    server.close();
  });
  return { kernel, port, session, lines };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends a request over HTTP/2. `until` ends it when the text so far contains this. */
async function ask(
  session: ClientHttp2Session,
  path: string,
  { body, until, headers = {} }: { body?: object; until?: string; headers?: object } = {},
): Promise<Answer> {
  const stream = session.request({
    ":path": path,
    ":method": body ? "POST" : "GET",
    authorization: `Bearer ${token}`,
    ...(body && { "content-type": "application/json" }),
    ...headers,
  });
  stream.setEncoding("utf8");
  if (body) stream.end(JSON.stringify(body));
  const [head] = (await once(stream, "response")) as [{ ":status": number }];
  let text = "";
  for await (const part of stream) {
    text += part;
    if (until !== undefined && text.includes(until)) break;
  }
  return { status: head[":status"], text };
}

describe("http({ server }) with HTTP/2", () => {
  test("serves requests and leaves other ones to the host", async () => {
    const { session, lines } = await startHost();
    expect(await ask(session, "/pico")).toMatchObject({ status: 200 });
    expect(await ask(session, "/other")).toEqual({ status: 200, text: "theirs /other" });
    const posted = await ask(session, "/pico/messages?wait=5", { body: { content: "one" } });
    expect(posted.status).toBe(200);
    expect(posted.text).toContain("re one");
    const messages = [{ role: "user", content: "two" }];
    const completion = { model: "doorward", messages };
    const chat = await ask(session, "/v1/chat/completions", { body: completion });
    expect(chat.text).toContain("re two");
    const streamed = await ask(session, "/v1/chat/completions", {
      body: { ...completion, stream: true },
    });
    expect(streamed.text).toContain("[DONE]");
    expect(lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("serves event streams", async () => {
    const { session, kernel } = await startHost();
    const events = ask(session, "/pico/events?session_id=s", { until: "hello" });
    await expect.poll(() => kernel.services.picoServer.connections().length).toBe(1);
    await kernel.services.channels.send({ channel: "pico", session: "s" }, { content: "hello" });
    expect(await events).toMatchObject({ status: 200, text: expect.stringContaining("hello") });
  });

  test("rejects a wrong token and a body that is too large", async () => {
    const { session } = await startHost();
    const headers = { authorization: "Bearer wrong" };
    expect((await ask(session, "/pico", { headers })).status).toBe(401);
    const body = { content: "x".repeat(2 * 1024 * 1024) };
    expect((await ask(session, "/pico/messages", { body })).status).toBe(413);
    expect((await ask(session, "/pico")).status).toBe(200);
  });

  test("serves WebSockets and requests over HTTP/1", async () => {
    const { port } = await startHost();
    const headers = { authorization: `Bearer ${token}` };
    const options = { headers, rejectUnauthorized: false };
    const socket = new WebSocket(`wss://127.0.0.1:${port}/pico`, options);
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "message.send", payload: { content: "ws" } }));
    const [data] = (await once(socket, "message")) as [Buffer];
    expect(data.toString()).toContain("re ws");
    socket.close();
    const [response] = await once(
      get(`https://127.0.0.1:${port}/pico`, { ...options, agent: false }),
      "response",
    );
    expect((response as { statusCode: number }).statusCode).toBe(200);
    (response as { resume(): void }).resume();
  });

  test("answers alone on a server without a listener", async () => {
    const { session } = await startHost(false);
    expect((await ask(session, "/pico")).status).toBe(200);
    expect((await ask(session, "/other")).status).toBe(404);
  });
});

describe("http({ server })", () => {
  const servers: readonly (readonly [string, () => object, string])[] = [
    ["HTTP/2 without HTTP/1", () => createSecureServer(certificate), "allowHTTP1: true"],
    ["h2c", () => createPlainHttp2(), "h2c"],
    ["TCP", () => createTcp(), "node:net"],
  ];

  test.each(servers)("refuses a server for %s with a sentence", async (_, create, text) => {
    const server = create() as NonNullable<HttpOptions["server"]>;
    const kernel = createKernel([http({ server })], { log: createCapturedLog().log });
    await expect(kernel.start()).rejects.toMatchObject({
      code: "HTTP_SERVER",
      message: expect.stringContaining(text) as string,
    });
  });

  test("accepts a server for HTTPS", async () => {
    const kernel = createKernel([http({ server: createServer(certificate) })]);
    await kernel.start();
    await kernel.stop();
  });
});
