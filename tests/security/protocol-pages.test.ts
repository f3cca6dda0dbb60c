// Attacks the protocols as pages of a host that identifies people by a cookie.
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HostIdentity } from "../../plugins/http/index.ts";
import { createControl } from "../support/growing-reply.ts";
import { echo, startProtocols, tokens, type ProtocolService } from "../support/protocol-service.ts";

const json = { "Content-Type": "application/json" };

const protocols = [
  {
    name: "ai_sdk",
    path: "/ai/chat",
    stopPath: (thread: string) => `/ai/chat/${encodeURIComponent(thread)}/stop`,
    body: (thread: string, text: string) => ({
      id: thread,
      messages: [{ id: text, role: "user", parts: [{ type: "text", text }] }],
    }),
  },
  {
    name: "ag_ui",
    path: "/ag-ui",
    stopPath: (thread: string) => `/ag-ui/${encodeURIComponent(thread)}/stop`,
    body: (thread: string, text: string) => ({
      threadId: thread,
      runId: "r",
      messages: [{ id: text, role: "user", content: text }],
    }),
  },
] as const;

/** Names the people of the host, and ends their sessions. */
function createHost() {
  const ended = new Map<string, Set<(reason: string) => void>>();
  const people: Readonly<Record<string, Omit<HostIdentity, "id">>> = {
    ann: { name: "Ann" },
    bob: {},
    lou: { sessions: ["lobby"] },
    fay: { sessions: (session) => session.endsWith("garden") },
    all: { sessions: "all" },
  };
  return {
    identify({ headers }: { headers: { cookie?: string | undefined } }): HostIdentity | undefined {
      const id = /(?:^|; )user=([a-z]+)/.exec(headers.cookie ?? "")?.[1] ?? "";
      if (!Object.hasOwn(people, id)) return undefined;
      return {
        ...people[id],
        id,
        onEnd(callback) {
          const callbacks = ended.get(id) ?? new Set();
          ended.set(id, callbacks.add(callback));
          return () => callbacks.delete(callback);
        },
      };
    },
    signOut(id: string): void {
      for (const callback of [...(ended.get(id) ?? [])]) callback("signed out");
    },
    watchers: (id: string): number => ended.get(id)?.size ?? 0,
  };
}

describe.each(protocols)("$name on pages of a host", ({ name, path, stopPath, body }) => {
  const host = createHost();
  let service: ProtocolService;
  let shared: ProtocolService;
  beforeAll(async () => {
    service = await startProtocols({ identify: host.identify });
    shared = await startProtocols({ identify: host.identify, config: { sessions: "shared" } });
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await shared[Symbol.asyncDispose]();
  });

  const page = ({ origin }: ProtocolService, user: string): Record<string, string> => ({
    Origin: origin,
    Cookie: `user=${user}`,
  });
  const post = (
    target: ProtocolService,
    headers: Record<string, string>,
    content: object,
    at: string = path,
  ): Promise<Response> =>
    fetch(target.origin + at, {
      method: "POST",
      headers: { ...json, ...headers },
      body: JSON.stringify(content),
    });
  const rejection = async (response: Response): Promise<[number, unknown]> => [
    response.status,
    ((await response.json()) as { error?: unknown }).error,
  ];

  test("admits a person without a token, in a session of their own", async () => {
    service.state.handler = echo;
    for (const [user, session] of [
      ["ann", `host:ann/${name}/home`],
      ["bob", `host:bob/${name}/home`],
      ["all", `${name}/home`],
    ] as const) {
      const response = await post(service, page(service, user), body("home", `of ${user}`));
      expect(await response.text()).toContain(`you said of ${user}`);
      const { sender, session: used } = service.received.at(-1)!;
      const named = user === "ann" && { name: "Ann" };
      expect([sender, used]).toEqual([{ id: `host:${user}`, ...named }, session]);
    }
  });

  test("rejects sessions of others, whether or not they exist", async () => {
    const before = shared.received.length;
    for (const [user, session] of [
      ["bob", "host:ann/home"],
      ["bob", "host:ann/"],
      ["bob", "host:bob/"],
      ["lou", "lounge"],
      ["lou", "host:ann/home"],
      ["fay", "lobby"],
    ] as const) {
      const answer = await rejection(await post(shared, page(shared, user), body(session, "hi")));
      expect(answer, `${user} ${session}`).toEqual([403, "session_forbidden"]);
      const stop = await post(shared, page(shared, user), {}, stopPath(session));
      expect(await rejection(stop)).toEqual([403, "session_forbidden"]);
    }
    expect(shared.received.length).toBe(before);
    for (const [user, session] of [
      ["lou", "lobby"],
      ["fay", "the garden"],
    ] as const) {
      const response = await post(shared, page(shared, user), body(session, `${user} is here`));
      expect(await response.text()).toContain(`you said ${user} is here`);
      expect(shared.received.at(-1)!.session).toBe(session);
    }
  });

  test("stops no answer of another person", async () => {
    const control = createControl();
    service.state.handler = control.handler;
    const before = service.received.length;
    const answer = post(service, page(service, "ann"), body("held", "long"));
    await expect.poll(() => service.received.length).toBe(before + 1);
    for (const thread of ["held", `host:ann/${name}/held`, `../ann/held`]) {
      const stop = await post(service, page(service, "bob"), {}, stopPath(thread));
      expect(((await stop.json()) as { stopped: object[] }).stopped).toEqual([]);
    }
    const own = await post(service, page(service, "ann"), {}, stopPath("held"));
    expect(await own.json()).toMatchObject({ stopped: [{ status: "stopping" }] });
    await (await answer).text();
  });

  test("admits no page of another origin, and no unknown person", async () => {
    service.state.handler = echo;
    const before = service.received.length;
    const { origin } = service;
    const attacks: readonly Record<string, string>[] = [
      { Cookie: "user=ann" },
      { Cookie: "user=ann", Origin: "null" },
      { Cookie: "user=ann", Origin: "https://evil.example" },
      { Cookie: "user=ann", Origin: origin.replace("http:", "https:") },
      { Cookie: "user=ann", Origin: `${origin}0` },
      { Cookie: "user=ann", Origin: `${origin}.evil.example` },
      { Cookie: "user=ann", Origin: `${origin}/` },
      { Cookie: "user=ann", "Sec-Fetch-Site": "same-origin" },
      { Cookie: "user=ann", Referer: `${origin}/page` },
      { Cookie: "user=eve", Origin: origin },
      { Cookie: "", Origin: origin },
      { Cookie: "user=constructor", Origin: origin },
      { ...page(service, "eve"), Authorization: "Bearer wrong" },
      { ...page(service, "eve"), Authorization: "Basic YTpi" },
      { ...page(service, "eve"), Authorization: `Bearer ${tokens.pico}` },
    ];
    for (const headers of attacks) {
      const response = await post(service, headers, body("home", "attack"));
      expect([401, 403, 429], JSON.stringify(headers)).toContain(response.status);
    }
    expect(service.received.length).toBe(before);
  });

  test("reads nothing for a page of another origin", async () => {
    const get = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${service.origin}/ai/chat/kitchen/messages`, { headers });
    expect((await get({ Cookie: "user=ann" })).status).not.toBe(200);
    const foreign = { Cookie: "user=ann", "Sec-Fetch-Site": "cross-site" };
    expect((await get(foreign)).status).not.toBe(200);
    expect((await get(page(service, "ann"))).status).toBe(200);
  });

  test("ends the responses of a person who signs out, and no answer", async () => {
    const control = createControl();
    service.state.handler = control.handler;
    const before = service.received.length;
    const answering = post(service, page(service, "ann"), body("open", "long"));
    await expect.poll(() => service.received.length).toBe(before + 1);
    const answer = await answering;
    const { signal } = service.received.at(-1) as unknown as { signal: AbortSignal };
    const text = answer.text().catch((error: Error) => error.message);
    host.signOut("ann");
    expect(await text).toMatch(name === "ai_sdk" ? /terminated|aborted/ : /invalid_api_key/);
    expect(signal.aborted).toBe(false);
    control.end();
    await expect.poll(() => host.watchers("ann")).toBe(0);
  });

  test("forgets a person whose body arrives after the sign-out", async () => {
    const { hostname, port } = new URL(service.origin);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    const content = JSON.stringify(body("home", "late"));
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\n` +
        `Origin: ${service.origin}\r\nCookie: user=ann\r\nContent-Length: ${content.length}\r\n\r\n`,
    );
    await expect.poll(() => host.watchers("ann")).toBe(1);
    const before = service.received.length;
    host.signOut("ann");
    socket.write(content);
    const [response] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    expect(String(response)).toMatch(/^HTTP\/1\.1 401 /);
    expect(service.received.length).toBe(before);
    await expect.poll(() => host.watchers("ann")).toBe(0);
  });
});

describe("openai on pages of a host", () => {
  test("admits no person without its token", async () => {
    const host = createHost();
    await using service = await startProtocols({ identify: host.identify });
    const messages = [{ role: "user", content: "hi" }];
    for (const headers of [
      { Cookie: "user=ann" },
      { Cookie: "user=all", Origin: service.origin },
    ] as readonly Record<string, string>[]) {
      const response = await fetch(`${service.origin}/v1/chat/completions`, {
        method: "POST",
        headers: { ...json, ...headers },
        body: JSON.stringify({ model: "doorward", messages }),
      });
      expect([401, 403]).toContain(response.status);
    }
    expect(service.received).toEqual([]);
  });
});
