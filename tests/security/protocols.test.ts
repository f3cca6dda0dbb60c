// Attacks the protocols of other products: tokens, origins, bodies, slow readers, aborted requests.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { echo, startProtocols, tokens, type ProtocolService } from "../support/protocol-service.ts";

const protocols = [
  {
    name: "openai",
    path: "/v1/chat/completions",
    body: (text: string) => ({
      model: "doorward",
      stream: true,
      messages: [{ role: "user", content: text }],
    }),
  },
  {
    name: "ai_sdk",
    path: "/ai/chat",
    body: (text: string) => ({
      id: "c",
      messages: [{ id: text, role: "user", parts: [{ type: "text", text }] }],
    }),
  },
  {
    name: "ag_ui",
    path: "/ag-ui",
    body: (text: string) => ({
      threadId: "t",
      runId: "r",
      messages: [{ id: text, role: "user", content: text }],
    }),
  },
] as const;

const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` });
const json = { "Content-Type": "application/json" };

describe.each(protocols)("$name", ({ name, path, body }) => {
  let service: ProtocolService;
  beforeAll(async () => {
    service = await startProtocols();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const own = bearer(tokens[name]);
  const post = (text: string, headers: Record<string, string> = own): Promise<Response> =>
    fetch(service.origin + path, { method: "POST", headers: { ...json, ...headers }, body: text });
  const codeOf = async (response: Response): Promise<[number, unknown]> => {
    const { error } = (await response.json()) as { error: string | { code: string } };
    return [response.status, typeof error === "string" ? error : error.code];
  };

  test("accepts no token but its own", async () => {
    const text = JSON.stringify(body("stolen"));
    const others = Object.entries(tokens).filter(([token]) => token !== name);
    expect(others.length).toBe(4);
    // Each wrong value counts; ten are allowed.
    for (const [token, value] of others)
      expect(await codeOf(await post(text, bearer(value))), token).toEqual([
        401,
        "invalid_api_key",
      ]);
    const signIn = await fetch(`${service.origin}/login`, {
      method: "POST",
      headers: { ...json, Origin: service.origin },
      body: JSON.stringify({ token: tokens.launcher }),
    });
    const cookie = signIn.headers.getSetCookie().map((line) => line.split(";")[0]!);
    expect(cookie.length).toBeGreaterThan(0);
    const wrong: readonly Record<string, string>[] = [
      { Cookie: cookie.join("; ") },
      { Cookie: cookie.join("; "), Origin: service.origin },
      { Authorization: `Basic ${Buffer.from(`a:${tokens[name]}`).toString("base64")}` },
      { Authorization: `Bearer${tokens[name]}` },
      { "Sec-WebSocket-Protocol": `token.${tokens[name]}` },
    ];
    for (const headers of wrong)
      expect([401, 403], JSON.stringify(Object.keys(headers))).toContain(
        (await post(text, headers)).status,
      );
    const query = await fetch(`${service.origin}${path}?token=${tokens[name]}`, {
      method: "POST",
      headers: json,
      body: text,
    });
    expect(query.status).toBe(401);
    expect(service.received).toEqual([]);
  });

  test("rejects pages of other origins before it looks at the token", async () => {
    for (const origin of ["https://evil.example", "null", service.origin]) {
      const headers = { ...bearer("wrong"), Origin: origin };
      expect(await codeOf(await post(JSON.stringify(body("page")), headers))).toEqual([
        403,
        "origin_not_allowed",
      ]);
    }
    expect(service.received).toEqual([]);
  });

  test("rejects malformed bodies and reaches no application", async () => {
    const deep = `${'{"a":'.repeat(80)}1${"}".repeat(80)}`;
    const bodies = ["", "{", "[]", "null", '"text"', deep, "{}", '{"__proto__":{"id":"x"}}'];
    for (const text of bodies) {
      const response = await post(text);
      expect(response.status, text.slice(0, 20)).toBe(400);
      expect(await response.text()).not.toMatch(/\.ts\b|node:|\bstack\b/);
    }
    const form = { ...own, "Content-Type": "application/x-www-form-urlencoded" };
    expect((await post("a=b", form)).status).toBe(415);
    const wide = JSON.stringify({ ...body("wide"), list: Array.from({ length: 70_000 }, () => 1) });
    expect(await codeOf(await post(wide))).toEqual([400, "invalid_json"]);
    expect(await codeOf(await post(JSON.stringify(body("x".repeat(1_100_000)))))).toEqual([
      413,
      "too_large",
    ]);
    expect(await codeOf(await post(" ".repeat(33 * 1024 * 1024)))).toEqual([413, "too_large"]);
    expect(service.received).toEqual([]);
  });

  const open = async (head: string): Promise<Socket> => {
    const { hostname, port } = new URL(service.origin);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${head}`,
    );
    return socket;
  };

  test("reads no body before the token is right", async () => {
    const socket = await open("Content-Length: 1000000\r\nAuthorization: Bearer x\r\n\r\n");
    const [response] = (await once(socket, "data")) as [Buffer];
    expect(String(response)).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  test("survives requests that are aborted at any point", async () => {
    service.state.handler = echo;
    const text = JSON.stringify(body("whole"));
    const head = `Content-Length: ${text.length}\r\nAuthorization: Bearer ${tokens[name]}\r\n\r\n`;
    for (let cut = 0; cut < text.length; cut += 11) {
      const socket = await open(head);
      socket.write(text.slice(0, cut), () => socket.destroy());
      await once(socket, "close");
    }
    expect(service.received).toEqual([]);
    const response = await post(JSON.stringify(body("afterwards")));
    expect(await response.text()).toContain("you said afterwards");
    expect(service.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("disconnects clients that read nothing", async () => {
    await using slow = await startProtocols({ config: { write_timeout: 1 } });
    slow.state.handler = async ({ reply }) => {
      for (let part = 0; part < 40; part += 1) await reply({ content: "x".repeat(400_000) });
    };
    const { hostname, port } = new URL(slow.origin);
    const text = JSON.stringify(body("slow"));
    const socket = connect(Number(port), hostname).pause();
    let isBroken = false;
    socket.on("error", () => (isBroken = true)).on("close", () => (isBroken = true));
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${text.length}\r\nAuthorization: Bearer ${tokens[name]}\r\n\r\n${text}`,
    );
    // A paused socket notices the end when it writes. The server ignores the empty line.
    await expect
      .poll(() => {
        if (!isBroken) socket.write("\r\n");
        return isBroken;
      })
      .toBe(true);
    socket.destroy();
    expect(slow.received).toHaveLength(1);
  });

  test("ends its responses when the token is replaced", async () => {
    await using replaced = await startProtocols();
    replaced.state.handler = async (message) => {
      await message.reply({ content: "begun", final: false });
      await new Promise((done) => message.signal.addEventListener("abort", done));
    };
    const response = await fetch(replaced.origin + path, {
      method: "POST",
      headers: { ...json, ...own },
      body: JSON.stringify(body("hi")),
    });
    expect(response.status).toBe(200);
    const { tokenSecrets } = replaced.kernel.services;
    await tokenSecrets.replace(name, { value: "another-".repeat(8), expect: 1 });
    const end = await response.text().catch((error: Error) => error);
    if (name === "ai_sdk") expect(end).toBeInstanceOf(Error);
    else expect(end).toContain("invalid_api_key");
    const again = await fetch(replaced.origin + path, {
      method: "POST",
      headers: { ...json, ...own },
      body: JSON.stringify(body("hi")),
    });
    expect(again.status).toBe(401);
  });
});
