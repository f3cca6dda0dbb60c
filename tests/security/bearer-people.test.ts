// People of a host who send a token of their own, over every address that takes tokens.
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createKernel } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { agUi } from "../../plugins/protocols/ag-ui/index.ts";
import { aiSdk } from "../../plugins/protocols/ai-sdk/index.ts";
import { openai } from "../../plugins/protocols/openai/index.ts";
import { application, channels, type Message } from "../../plugins/channels/index.ts";
import { conversations, sqlite } from "../../plugins/conversations/index.ts";
import { http, type HostIdentity, type HttpOptions } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { memory, tokenStore, type TokenBackend } from "../../plugins/token-store/index.ts";
import { connectClient, sendRaw, wsLines } from "../support/pico-server-harness.ts";
import { createFolder } from "../support/sqlite-store.ts";

const secret = "correct-horse-battery-staple-".repeat(2);
const names = { pico: secret, openai: secret + "o", ai_sdk: secret + "s", ag_ui: secret + "g" };

/** Reads the person of `Bearer user-NAME`, or of the cookie `user=NAME`. */
function identify({ headers }: { headers: NodeJS.Dict<string | string[]> }) {
  const bearer = /^Bearer user-(\w+)$/.exec(String(headers["authorization"] ?? ""))?.[1];
  const cookie = /(?:^|; )user=(\w+)/.exec(String(headers["cookie"] ?? ""))?.[1];
  if (bearer === "broken") throw new Error("the database is away");
  const id = bearer ?? cookie;
  return id === undefined ? undefined : ({ id } satisfies HostIdentity);
}

const verify: NonNullable<TokenBackend["verify"]> = (name, candidate) => {
  const user = /^user-(\w+)$/.exec(candidate)?.[1];
  if (user === "broken") throw new Error("the database is away");
  if (user === "nobody") return {} as never;
  return user === undefined ? candidate === names[name as "pico"] : { id: user, name: user };
};

async function startHost(options: { identify?: HttpOptions["identify"]; backend?: TokenBackend }) {
  const server = createServer((_, response) => void response.writeHead(404).end());
  const { log } = createCapturedLog();
  const received: Message[] = [];
  const common = { enabled: true, message_rate: 0 };
  const kernel = createKernel(
    [
      tokenStore(options.backend ?? memory(names)),
      conversations({ store: sqlite({ path: `${createFolder()}/conversations.db` }) }),
      channels(),
      http({ server, ...(options.identify && { identify: options.identify }) }),
      picoServer(),
      openai(),
      aiSdk(),
      agUi(),
      application(async (message) => {
        received.push(message);
        await message.reply({ content: `you said ${message.content}` });
      }),
    ],
    {
      log,
      config: {
        "channels.pico": { ...common, drain_timeout: 0 },
        "channels.openai": common,
        "channels.ai_sdk": common,
        "channels.ag_ui": common,
      },
    },
  );
  await kernel.start();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  onTestFinished(async () => {
    await kernel.stop();
    server.closeAllConnections();
    server.close();
  });
  const ask = async (path: string, token: string, body?: object, headers = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const socket = (token: string, path: string, headers: Record<string, string> = {}) =>
    sendRaw(port, path, {
      lines: [
        ...wsLines,
        ...(token === "" ? [] : [`Authorization: Bearer ${token}`]),
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ],
    });
  return { kernel, port, received, ask, socket };
}
type Host = Awaited<ReturnType<typeof startHost>>;

const messages = (text: string) => [{ role: "user", content: text }];
const uiMessages = (text: string) => [
  { id: `m-${text}`, role: "user", parts: [{ type: "text", text }] },
];
/** Sends one message by each way that is a request. */
const ways: Readonly<
  Record<string, (host: Host, token: string, text: string, headers?: object) => Promise<number>>
> = {
  "POST /pico/messages": async (host, token, content, headers) =>
    (await host.ask("/pico/messages", token, { session_id: "home", content }, headers)).status,
  OpenAI: async (host, token, text, headers) =>
    (
      await host.ask(
        "/v1/chat/completions",
        token,
        { model: "doorward", messages: messages(text), user: "home" },
        headers,
      )
    ).status,
  "AI SDK": async (host, token, text, headers) =>
    (
      await host.ask(
        "/ai/chat",
        token,
        { id: "home", messages: uiMessages(text), trigger: "submit-message" },
        headers,
      )
    ).status,
  "AG-UI": async (host, token, text, headers) =>
    (
      await host.ask(
        "/ag-ui",
        token,
        {
          threadId: "home",
          runId: `r-${text}`,
          messages: [{ id: `m-${text}`, role: "user", content: text }],
          tools: [],
          context: [],
          state: {},
          forwardedProps: {},
        },
        headers,
      )
    ).status,
};

/** The host names people by `identify`, or by the check of its tokens. */
const hosts = {
  identify: () => startHost({ identify }),
  verify: () =>
    startHost({ backend: { resolve: () => undefined, write: () => undefined, verify } }),
};
const text = ({ port }: Host, path: string, token: string) => connectClient(port, path, { token });

describe.each(Object.entries(hosts))("people with tokens of their own (%s)", (kind, start) => {
  test.each(Object.keys(ways))(
    "makes two people two senders with own sessions over %s",
    async (way) => {
      const host = await start();
      expect(await ways[way]!(host, "user-ann", "one")).toBeLessThan(300);
      expect(await ways[way]!(host, "user-bob", "two")).toBeLessThan(300);
      await expect.poll(() => host.received.length).toBe(2);
      const [one, two] = host.received;
      expect([one!.sender!.id, two!.sender!.id]).toEqual(["host:ann", "host:bob"]);
      expect(one!.session).toMatch(/^host:ann\//);
      expect(two!.session).toBe(one!.session.replace("host:ann", "host:bob"));
    },
  );

  test("lets no person reach the session of another one", async () => {
    const host = await start();
    const ann = await text(host, "/pico?session_id=home", "user-ann");
    ann.send({ type: "message.send", payload: { content: "secret of ann" } });
    expect((await ann.next()).payload).toMatchObject({ content: "you said secret of ann" });
    const own = await host.ask("/pico/history?session_id=home", "user-ann");
    expect(own.text).toContain("secret of ann");
    for (const session of ["host:ann/home", "host:ann/", "host:ann%2Fhome/"]) {
      const query = `session_id=${encodeURIComponent(session)}`;
      expect(await host.socket("user-bob", `/pico?${query}`)).toMatchObject({ status: 403 });
      for (const path of ["history", "events"])
        expect(await host.ask(`/pico/${path}?${query}`, "user-bob")).toMatchObject({ status: 403 });
      for (const path of ["messages", "stop"]) {
        const body = { session_id: session, content: "by bob" };
        expect((await host.ask(`/pico/${path}`, "user-bob", body)).status).toBe(403);
      }
    }
    const bobs = await host.ask("/pico/history?session_id=home", "user-bob");
    expect(JSON.parse(bobs.text)).toEqual({ turns: [] });
    expect(host.received.map(({ sender }) => sender!.id)).toEqual(["host:ann"]);
  });

  test("leaves the tokens of programs as they were", async () => {
    const host = await start();
    expect(await ways["OpenAI"]!(host, names.openai, "hello")).toBe(200);
    expect(await ways["OpenAI"]!(host, "wrong", "hello")).toBe(401);
    expect((await host.socket(names.pico, "/pico")).status).toBe(101);
    expect((await host.socket("wrong", "/pico")).status).toBe(401);
    expect(host.received.map(({ sender }) => sender!.id)).toEqual(["token:openai"]);
  });

  test("rejects people when the check of the host fails", async () => {
    const host = await start();
    const expected = kind === "identify" ? 401 : 503;
    for (const way of Object.values(ways))
      expect(await way(host, "user-broken", "hello")).toBe(expected);
    expect((await host.socket("user-broken", "/pico")).status).toBe(expected);
    expect(host.received).toEqual([]);
  });

  test("counts wrong tokens before it compares them", async () => {
    const host = await start();
    const statuses: number[] = [];
    for (let at = 0; at < 12; at += 1)
      statuses.push((await host.socket(`wrong-${at}`, "/pico")).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
  });
});

describe("identify", () => {
  const foreign = { origin: "https://evil.example" };
  const cookie = { cookie: "user=ann" };

  test("names no person for a token of another site's page", async () => {
    const host = await startHost({ identify });
    const headers = { ...foreign, ...cookie };
    for (const path of ["/pico?token=junk", "/pico"])
      expect((await host.socket("", path, headers)).status).toBe(401);
    const protocols = { "Sec-WebSocket-Protocol": "token.junk" };
    expect((await host.socket("", "/pico", { ...headers, ...protocols })).status).toBe(401);
    for (const authorization of ["Basic YW5uOng=", "Negotiate YW5u"])
      expect((await host.socket("", "/pico", { ...headers, authorization })).status).toBe(401);
    for (const way of Object.values(ways))
      expect([401, 403]).toContain(
        await way(host, "", "x", { ...headers, authorization: "Basic YW5uOng=" }),
      );
    expect(host.received).toEqual([]);
  });

  test("decides before the token on pages of the same origin", async () => {
    const host = await startHost({ identify });
    const origin = `http://127.0.0.1:${host.port}`;
    const headers = { origin, ...cookie, authorization: `Bearer ${names.pico}` };
    const client = await connectClient(host.port, "/pico", { token: null, headers });
    client.send({ type: "message.send", payload: { content: "hello" } });
    await client.next();
    expect(host.received[0]!.sender).toEqual({ id: "host:ann" });
  });

  test("decides before a token that is right", async () => {
    const host = await startHost({ identify: () => ({ id: "ann" }) });
    expect(await ways["OpenAI"]!(host, names.openai, "hello")).toBe(200);
    expect(host.received[0]!.sender).toEqual({ id: "host:ann" });
  });

  test("takes no request with two Authorization headers", async () => {
    const host = await startHost({ identify });
    const lines = [...wsLines, "Authorization: Bearer user-ann", "Authorization: Bearer user-bob"];
    expect((await sendRaw(host.port, "/pico", { lines })).status).toBe(400);
  });
});

describe("tokenStore", () => {
  const backend: TokenBackend = { resolve: () => undefined, write: () => undefined, verify };

  test("rejects a person without an id", async () => {
    const host = await startHost({ backend });
    expect((await host.socket("user-nobody", "/pico")).status).toBe(503);
  });

  test("opens nothing of the owner for a person", async () => {
    const kernel = createKernel([tokenStore(backend)]);
    await kernel.start();
    onTestFinished(() => kernel.stop());
    const { tokens } = kernel.services;
    for (const name of ["launcher", "metrics", "pico"]) await tokens.claim(name);
    expect(await tokens.match("launcher", "user-ann")).toBe(false);
    expect(await tokens.match("metrics", "user-ann")).toBe(false);
    expect(await tokens.verify("pico", "user-ann")).toBe(false);
    expect(await tokens.match("pico", "user-ann")).toEqual({
      version: 1,
      person: { id: "ann", name: "ann" },
    });
  });
});
