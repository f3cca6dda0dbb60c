import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import fastify from "fastify";
import { pino } from "pino";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { createKernel, type Plugin } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { dashboard } from "../../plugins/dashboard/index.ts";
import { http, type HostIdentity } from "../../plugins/http/index.ts";
import { connectTestClient } from "../../testkit/index.ts";
import { memory, tokenStore, type Tokens } from "../../plugins/token-store/index.ts";
import { selfSigned } from "../plugins/http/certificate.ts";
import { rejection } from "../support/sample-plugins.ts";
import { embedded, listening, token } from "./support.ts";

const claims: Plugin<{ needs: { tokens: Tokens } }> = {
  name: "claims",
  api: 1,
  needs: { tokens: true },
  start: async ({ needs }) => void (await needs.tokens.claim("pico")),
};

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
function closing<S extends Server>(server: S): S {
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

async function conversation(channel: string): Promise<unknown> {
  await using client = await connectTestClient(channel, { token });
  client.say("hello");
  return (await client.next("message.create")).payload!["content"];
}

describe("kernel in a server of the host", () => {
  test("serves the channel under a prefix and leaves other paths alone", async () => {
    const server = closing(
      createServer((request, response) => void response.end(`theirs ${request.url}`)),
    );
    const port = await listening(server);
    const at = (path: string): Promise<string> =>
      fetch(`http://127.0.0.1:${port}${path}`).then((r) => r.text());
    const kernel = embedded({ server, basePath: "/door" });
    await kernel.start();
    expect(await conversation(`ws://127.0.0.1:${port}/door/pico`)).toBe("you said hello");
    for (const path of ["/", "/pico", "/doors"]) expect(await at(path)).toBe(`theirs ${path}`);
    await kernel.stop();
    expect([await at("/door/pico"), server.listening]).toEqual(["theirs /door/pico", true]);
  });

  test("shares upgrades with WebSockets of the host in any order", async () => {
    const server = closing(createServer());
    const early = new WebSocketServer({ noServer: true });
    server.on("upgrade", (request, socket, head) => {
      if (request.url === "/early")
        early.handleUpgrade(request, socket, head, (ws) => ws.send("early"));
    });
    const port = await listening(server);
    await using kernel = embedded({ server });
    await kernel.start();
    const late = new WebSocketServer({ noServer: true });
    server.on("upgrade", (request, socket, head) => {
      if (request.url === "/late")
        late.handleUpgrade(request, socket, head, (ws) => ws.send("late"));
    });
    for (const name of ["early", "late"]) {
      const ws = new WebSocket(`ws://127.0.0.1:${port}/${name}`);
      const [data] = (await once(ws, "message")) as [Buffer];
      expect(data.toString()).toBe(name);
      ws.terminate();
    }
    expect(await conversation(`ws://127.0.0.1:${port}/pico`)).toBe("you said hello");
  });

  test("serves the channel over TLS of the host", async () => {
    const { cert, key } = selfSigned();
    const server = closing(createTlsServer({ cert, key }));
    const port = await listening(server);
    await using kernel = embedded({ server });
    await kernel.start();
    const ws = new WebSocket(`wss://127.0.0.1:${port}/pico`, `token.${token}`, {
      rejectUnauthorized: false,
    });
    await once(ws, "open");
    ws.terminate();
  });

  test("runs on a Fastify server without affecting its routes", async () => {
    const app = fastify();
    const hooked: string[] = [];
    app.addHook("onRequest", async ({ url }) => void hooked.push(url));
    app.get("/", () => "theirs");
    await using kernel = embedded({ server: app.server });
    await kernel.start();
    const address = await app.listen({ port: 0, host: "127.0.0.1" });
    cleanups.push(() => app.close());
    expect(await fetch(address).then((r) => r.text())).toBe("theirs");
    expect(await conversation(`${address}/pico`)).toBe("you said hello");
    expect(hooked).toEqual(["/"]);
  });
});

describe("token check of the host", () => {
  test("receives only the name and the candidate", async () => {
    const asked: unknown[] = [];
    const verify = (...args: unknown[]): boolean => (asked.push(args), args[1] === "ours");
    const form = { resolve: () => undefined, write: () => undefined, verify };
    await using kernel = embedded({ port: 0 }, form);
    await kernel.start();
    const channel = new URL("pico", kernel.services.http.addresses()[0]);
    await using client = await connectTestClient(channel, { token: "ours" });
    client.say("hello");
    expect((await client.next("message.create")).payload!["content"]).toBe("you said hello");
    expect(
      (await rejection(connectTestClient(channel, { token: "theirs" }))).details["status"],
    ).toBe(401);
    expect(asked).toEqual([
      ["pico", "ours"],
      ["pico", "theirs"],
    ]);
  });

  test("also signs in to the dashboard", async () => {
    const form = {
      resolve: () => undefined,
      write: () => undefined,
      verify: async (name: string, token: string) => name === "launcher" && token === "ours",
    };
    await using kernel = createKernel([tokenStore(form), http({ port: 0 }), dashboard()], {
      log: createCapturedLog().log,
    });
    await kernel.start();
    const signIn = async (given: string): Promise<number> => {
      const [at] = kernel.services.http.addresses();
      const headers = { "content-type": "application/json", connection: "close" };
      const body = JSON.stringify({ token: given });
      return (await fetch(new URL("login", at), { method: "POST", headers, body })).status;
    };
    expect([kernel.state(), await signIn("theirs"), await signIn("ours")]).toEqual([
      "running",
      401,
      200,
    ]);
  });
});

describe("logger of the host", () => {
  test("accepts the loggers of pino and Fastify", async () => {
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    for (const log of [pino({}, stream), fastify({ logger: { stream } }).log]) {
      await using kernel = createKernel([tokenStore(memory({ pico: "short" })), claims], { log });
      await kernel.start();
    }
    const seen = lines.map(
      (line) => JSON.parse(line) as { plugin: string; level: number; msg: string },
    );
    const warned = seen.filter(({ plugin, level }) => plugin === "token-store" && level === 40);
    expect(warned.map(({ msg }) => /weak/.test(msg))).toEqual([true, true]);
  });
});

describe("session check of the host", () => {
  const users = new Map([["cookie-of-ann", "ann"]]);
  const find = ({
    headers,
  }: {
    headers: { cookie?: string | undefined };
  }): HostIdentity | undefined => {
    const id = users.get(headers.cookie ?? "");
    return id === undefined ? undefined : { id };
  };

  test.each([
    ["immediately", find],
    [
      "after a while",
      async (q: Parameters<typeof find>[0]) => (await new Promise(setImmediate), find(q)),
    ],
  ])("its pages open the channel without a token, when it answers %s", async (_, identify) => {
    const server = closing(createServer());
    const port = await listening(server);
    await using kernel = embedded({ server, identify });
    await kernel.start();
    const channel = `ws://127.0.0.1:${port}/pico`;
    const origin = `http://127.0.0.1:${port}`;
    await using page = await connectTestClient(channel, {
      headers: { cookie: "cookie-of-ann", origin },
    });
    page.say("hello");
    expect((await page.next("message.create")).payload!["content"]).toBe("you said hello");
    const others: Record<string, string>[] = [
      { cookie: "cookie-of-bob", origin },
      { cookie: "cookie-of-ann", origin: "http://evil.example" },
      { cookie: "cookie-of-ann" },
      { origin },
    ];
    for (const headers of others) {
      expect((await rejection(connectTestClient(channel, { headers }))).details["status"]).toBe(
        401,
      );
    }
  });

  test("closes the sockets of a session that ended", async () => {
    const server = closing(createServer());
    const port = await listening(server);
    let end = (_: string): void => undefined;
    const onEnd: NonNullable<HostIdentity["onEnd"]> = (ended) => ((end = ended), () => undefined);
    await using kernel = embedded({ server, identify: () => ({ id: "ann", onEnd }) });
    await kernel.start();
    const page = await connectTestClient(`ws://127.0.0.1:${port}/pico`, {
      headers: { origin: `http://127.0.0.1:${port}` },
    });
    end("signed out");
    expect((await page.closed).code).toBe(1008);
  });

  test("treats a failing check as unauthenticated and logs it", async () => {
    const server = closing(createServer());
    const port = await listening(server);
    const { log, lines } = createCapturedLog();
    const headers = { origin: `http://127.0.0.1:${port}` };
    for (const identify of [
      () => {
        throw new Error("no database");
      },
      () => Promise.reject(new Error("no database")),
    ]) {
      await using kernel = embedded({ server, identify }, undefined, log);
      await kernel.start();
      expect(
        (await rejection(connectTestClient(`ws://127.0.0.1:${port}/pico`, { headers }))).details[
          "status"
        ],
      ).toBe(401);
    }
    expect(lines.filter(({ reason }) => reason === "identify_failed")).toHaveLength(2);
  });
});
