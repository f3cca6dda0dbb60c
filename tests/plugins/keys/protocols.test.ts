// Tests where clients may use keys, and the rights of keys.
import { describe, expect, test } from "vitest";
import { askWith, startKeys, type KeyAsk, type KeyClient } from "../../support/key-service.ts";
import { waitFor } from "../../support/pico-server-harness.ts";
import { tokens } from "../../support/protocol-service.ts";

const all = ["read", "write", "answer", "stop"] as const;
const messages = [{ role: "user", content: "hi" }];
const chat = { model: "doorward", messages };
const aiMessage = {
  id: "c1",
  trigger: "submit-message",
  messages: [{ id: "u1", role: "user", parts: [{ type: "text", text: "hi" }] }],
};
const agInput = {
  threadId: "t1",
  runId: "r1",
  messages: [{ id: "u1", role: "user", content: "hi" }],
  tools: [],
  context: [],
  state: {},
  forwardedProps: {},
};
const file = { method: "POST", headers: { "content-type": "text/plain" }, body: Buffer.from("x") };
const post = (content: string): KeyAsk => ({ body: { session_id: "home", content } });

function form(): FormData {
  const data = new FormData();
  data.set("purpose", "user_data");
  data.set("file", new Blob(["x"]), "x.txt");
  return data;
}

describe("keys", () => {
  test("open the channel and all protocols, in own sessions", async () => {
    await using service = await startKeys();
    const phone = await service.client({ name: "phone", scopes: all });
    const id = `key:${phone.key.id}`;
    const socket = await phone.connect("/keys?session_id=home");
    socket.send({ type: "message.send", payload: { content: "by socket" } });
    await waitFor(() => socket.frames.some(({ type }) => type === "message.create"));
    expect((await phone.ask("/keys/messages?wait=5", post("by post"))).status).toBe(200);
    const { body } = await phone.ask("/keys/history?session_id=home");
    expect(body.turns.map(({ content }: { content: string }) => content)).toContain("by post");
    expect((await phone.ask("/v1/chat/completions", { body: chat })).status).toBe(200);
    expect((await phone.ask("/v1/models")).status).toBe(200);
    expect((await phone.ask("/ai/chat", { body: aiMessage })).status).toBe(200);
    expect((await phone.ask("/ag-ui", { body: agInput })).status).toBe(200);
    expect(new Set(service.received.map(({ sender }) => sender?.id))).toEqual(new Set([id]));
    expect(service.received[0]!.sender?.name).toBe("phone");
    const sessions = new Set(service.received.map(({ session }) => session));
    for (const name of ["home", "ai_sdk/c1", "ag_ui/t1"])
      expect(sessions).toContain(`${id}/${name}`);
    expect([...sessions].every((session) => session.startsWith(`${id}/`))).toBe(true);
    socket.ws.terminate();
  });

  test("find the same sessions by header and subprotocol, never in a URL", async () => {
    await using service = await startKeys({ picoConfig: { allow_token_query: true } });
    const { secret, connect } = await service.client({ name: "phone" });
    for (const protocols of [[`token.${secret}`], ["pico.v1", `token.${secret}`]]) {
      const client = await connect("/keys", { token: null, protocols });
      client.ws.terminate();
    }
    for (const path of ["/keys", "/keys/history", "/keys/events", "/pico", "/v1/models"]) {
      const answered = await askWith(service.origin, undefined, `${path}?token=${secret}`);
      expect([path, answered.status]).toEqual([path, 401]);
    }
    const connecting = connect(`/keys?token=${secret}`, { token: null });
    await expect(connecting).rejects.toThrow("401");
  });

  test("never open the channel of the token, the dashboard and its API", async () => {
    await using service = await startKeys();
    const { ask, connect } = await service.client({ name: "phone", scopes: all, sessions: "all" });
    const shut = [
      "/api/status",
      "/api/tokens",
      "/api/settings",
      "/api/log",
      "/api/decisions",
      "/api/keys",
      "/metrics",
    ];
    for (const path of [...shut, "/pico/history?session_id=home", "/api/conversations"])
      expect([path, (await ask(path)).status]).toEqual([path, 401]);
    const page = await ask("/", { headers: { accept: "text/html", "sec-fetch-mode": "navigate" } });
    expect(page.status).toBe(302);
    await expect(connect("/pico")).rejects.toThrow("401");
  });

  test("serve nothing at /keys until the first key exists", async () => {
    await using service = await startKeys();
    const path = "/keys/history?session_id=home";
    expect((await askWith(service.origin, tokens.pico, path)).status).toBe(404);
    const { ask } = await service.client({ name: "phone" });
    expect((await ask(path)).status).toBe(200);
    expect((await askWith(service.origin, tokens.pico, path)).status).toBe(401);
    await service.keys.revoke("phone");
    expect((await ask(path)).status).toBe(404);
  });

  test("reveal nothing about unknown, wrong and revoked keys", async () => {
    await using service = await startKeys();
    const { secret, ask } = await service.client({ name: "phone" });
    await service.client({ name: "other" });
    const wrong = secret.slice(0, -2) + (secret.endsWith("AA") ? "BB" : "AA");
    const unknown = `dwk_${"a".repeat(8)}_${secret.slice(13)}`;
    for (const path of ["/keys/history?session_id=home", "/v1/models", "/ai/chat/c/messages"]) {
      const answers = [];
      for (const each of [wrong, unknown]) answers.push(await askWith(service.origin, each, path));
      expect(answers[0]!.status).toBe(401);
      expect(answers[0]!.text).toBe(answers[1]!.text);
    }
    const before = await askWith(service.origin, wrong, "/v1/models");
    await service.keys.revoke("phone");
    expect((await ask("/v1/models")).text).toBe(before.text);
  });

  test("say that a key has expired to its holder only", async () => {
    await using service = await startKeys();
    await service.client({ name: "other" });
    const { ask, secret } = await service.client({ name: "phone", expiresInS: 5 });
    service.state.aheadMs = 5_000;
    const channel = await ask("/keys/history?session_id=home");
    expect([channel.status, channel.body.message]).toEqual([401, "The key has expired."]);
    expect((await ask("/v1/models")).text).toContain("has expired");
    const wrong = await askWith(service.origin, `${secret.slice(0, -4)}AAAA`, "/v1/models");
    expect(wrong.text).not.toContain("expired");
  });

  test("count wrong keys by address, and let the right one enter", async () => {
    await using service = await startKeys();
    const { ask } = await service.client({ name: "phone" });
    const statuses = [];
    for (let index = 10; index < 24; index += 1) {
      const wrong = `dwk_aaaaaaaa_${String(index).padEnd(43, "x")}`;
      statuses.push((await askWith(service.origin, wrong, "/v1/models")).status);
    }
    expect(statuses.slice(-2)).toEqual([429, 429]);
    expect((await ask("/v1/models")).status).toBe(200);
    expect((await askWith(service.origin, tokens.openai, "/v1/models")).status).toBe(200);
  });

  test("count in their protocols only", async () => {
    await using service = await startKeys();
    const { ask } = await service.client({ name: "phone", protocols: ["openai"] });
    expect((await ask("/v1/models")).status).toBe(200);
    for (const path of ["/keys/history?session_id=home", "/ai/chat/c/messages"]) {
      const { status, text } = await ask(path);
      expect([path, status]).toEqual([path, 403]);
      expect(text).toContain("not_allowed");
      expect(text).toContain("may not be used for the protocol");
    }
  });

  test("name no session, whether or not they exist", async () => {
    await using service = await startKeys();
    const { ask, secret } = await service.client({ name: "phone" });
    for (const name of [secret, `x-dwk_aaaaaaaa_${"x".repeat(43)}`]) {
      const path = `/keys/history?session_id=${name}`;
      const channel = await ask("/keys/messages", { body: { session_id: name, content: "x" } });
      expect([channel.status, channel.text.includes(name)]).toEqual([400, false]);
      const headers = { "x-doorward-session": name };
      const openai = await ask("/v1/chat/completions", { body: chat, headers });
      expect([openai.status, openai.text.includes(name)]).toEqual([400, false]);
      expect((await askWith(service.origin, undefined, path)).text).not.toContain(name);
    }
  });
});

/** A request to each address that needs a right, and what the key must have. */
const requests: readonly (readonly [string, KeyAsk, readonly string[]])[] = [
  ["/keys/messages", post("x"), ["write"]],
  ["/keys/messages?wait=1", post("x"), ["write", "read"]],
  ["/keys/history?session_id=home", {}, ["read"]],
  ["/keys/media?session_id=home", file, ["write"]],
  ["/keys/answer", { body: { session_id: "home", message_id: "m", option: "x" } }, ["answer"]],
  ["/v1/chat/completions", { body: chat }, ["read", "write"]],
  ["/v1/responses", { body: { model: "doorward", input: "hi" } }, ["read", "write"]],
  ["/v1/files", { body: form() }, ["write"]],
  ["/v1/files/m_x", { method: "DELETE" }, []],
  ["/ai/chat", { body: aiMessage }, ["read", "write"]],
  ["/ai/chat/c1/messages", {}, ["read"]],
  ["/ai/chat/c1/answer", { body: { id: "q", option: "x" } }, ["answer"]],
  ["/ag-ui", { body: agInput }, ["read", "write"]],
];

describe("rights of keys", () => {
  test("decide about each request, and name what is missing", async () => {
    await using service = await startKeys();
    const clients = new Map<string, KeyClient>();
    for (const scope of all)
      clients.set(scope, await service.client({ name: scope, scopes: [scope] }));
    const every = await service.client({ name: "every", scopes: all });
    for (const [path, asked, needed] of requests) {
      for (const [scope, { ask }] of clients) {
        if (needed.length === 0) continue;
        const { status, text } = await ask(path, asked);
        const isAllowed = needed.every((right) => right === scope);
        if (isAllowed) expect([path, scope, status]).not.toEqual([path, scope, 403]);
        else {
          expect([path, scope, status]).toEqual([path, scope, 403]);
          expect(text).toContain("not_allowed");
          expect(needed.some((right) => text.includes(right))).toBe(true);
        }
      }
      const { status } = await every.ask(path, asked);
      expect([path, status]).not.toEqual([path, 403]);
    }
  });

  test("decide about frames", async () => {
    await using service = await startKeys();
    const write = await service.client({ name: "write", scopes: ["write"] });
    await expect(write.connect()).rejects.toThrow("403");
    const read = await service.client({ name: "read", scopes: ["read"] });
    const client = await read.connect("/keys?session_id=home&pico_ext=1&pico_can=stop,questions");
    const frames = [
      ["message.send", { content: "x" }],
      ["typing.start", undefined],
      ["message.stop", {}],
      ["question.answer", { message_id: "m", option: "x" }],
    ] as const;
    for (const [type, payload] of frames)
      client.send({ type, id: type, ...(payload && { payload }) });
    await client.settled();
    const refused = client.frames.filter(({ type }) => type === "error" || type === "question.ack");
    expect(
      refused.map(({ payload }) => [
        payload!["request_id"],
        payload!["code"] ?? payload!["status"],
      ]),
    ).toEqual([
      ["message.send", "not_allowed"],
      ["typing.start", "not_allowed"],
      ["message.stop", "not_allowed"],
      ["question.answer", "forbidden"],
    ]);
    expect(service.received).toEqual([]);
    client.ws.terminate();
  });

  test("let a key that only writes stop its own messages", async () => {
    await using service = await startKeys();
    const sessions = ["lobby"];
    const ann = await service.client({ name: "ann", scopes: ["write"], sessions });
    const bob = await service.client({ name: "bob", scopes: ["write"], sessions });
    const chief = await service.client({ name: "chief", scopes: ["stop"], sessions });
    const running = new Map<string, AbortSignal>();
    service.state.handler = ({ id, signal, accept }) => {
      running.set(id, signal);
      accept?.();
      return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    };
    for (const [client, id] of [
      [ann, "a1"],
      [bob, "b1"],
      [ann, "a2"],
    ] as const) {
      const body = { session_id: "lobby", id, content: "x" };
      expect((await client.ask("/keys/messages", { body })).status).toBe(202);
    }
    await waitFor(() => running.size > 0);
    const stop = (client: KeyClient, request_id?: string): Promise<unknown> =>
      client
        .ask("/keys/stop", { body: { session_id: "lobby", request_id } })
        .then(({ body }) => body.stopped.map((one: any) => one.request_id));
    const foreign = await bob.ask("/keys/stop", {
      body: { session_id: "lobby", request_id: "a1" },
    });
    expect(foreign.body.stopped).toEqual([{ request_id: "a1", status: "unknown" }]);
    const own = await stop(ann);
    expect(own).toEqual(expect.arrayContaining(["a1"]));
    expect(own).not.toContain("b1");
    expect(running.get("b1")?.aborted ?? false).toBe(false);
    expect(await stop(chief)).toContain("b1");
  });

  test("answer questions only with the right to answer", async () => {
    await using service = await startKeys();
    const sessions = ["lobby"];
    const asker = await service.client({ name: "asker", sessions });
    const boss = await service.client({ name: "boss", scopes: ["answer"], sessions });
    const options = [{ id: "yes", label: "Allow", effect: "allow" as const }];
    const results: unknown[] = [];
    service.state.handler = async ({ ask }) =>
      void results.push(await ask({ kind: "approval", content: "Delete?", options }));
    void asker.ask("/keys/messages", { body: { session_id: "lobby", content: "clean" } });
    const [open] = await waitFor(() => {
      const questions = service.channels.questions();
      return questions.length > 0 && questions;
    });
    const body = { session_id: "lobby", message_id: open!.id, option: "yes" };
    expect((await asker.ask("/keys/answer", { body })).status).toBe(403);
    expect((await boss.ask("/keys/answer", { body })).status).toBe(200);
    await waitFor(() => results.length > 0);
    expect(results[0]).toMatchObject({
      effect: "allow",
      via: "keys",
      by: { id: `key:${boss.key.id}`, name: "boss" },
    });
  });
});

describe("files of keys", () => {
  test("open only with a key of their session", async () => {
    await using service = await startKeys();
    const ann = await service.client({ name: "ann" });
    const bob = await service.client({ name: "bob" });
    const { body } = await ann.ask("/keys/media?session_id=home", file);
    expect(body.url).toBe(`/keys/media/${body.id}`);
    const uploaded = await ann.ask("/v1/files", { body: form() });
    expect([uploaded.status, uploaded.body.object]).toEqual([200, "file"]);
    const message = { session_id: "home", content: "see", media: [{ id: body.id }] };
    expect((await ann.ask("/keys/messages", { body: message })).status).toBe(202);
    const paths = [
      `/keys/media/${body.id}`,
      `/v1/files/${body.id}/content`,
      `/ai/files/${body.id}`,
      `/ag-ui/files/${body.id}`,
      `/v1/files/${uploaded.body.id}/content`,
    ];
    for (const path of paths) {
      expect([path, (await ann.ask(path)).text]).toEqual([path, "x"]);
      expect([path, (await bob.ask(path)).status]).toEqual([path, 404]);
    }
    const stolen = { session_id: "home", content: "see", media: [{ id: body.id }] };
    expect((await bob.ask("/keys/messages", { body: stolen })).body.error).toBe("unknown_media");
    expect((await bob.ask(`/v1/files/${uploaded.body.id}`, { method: "DELETE" })).status).toBe(404);
    expect((await ann.ask(`/v1/files/${uploaded.body.id}`, { method: "DELETE" })).status).toBe(200);
  });

  test("belong to named sessions in all protocols", async () => {
    await using service = await startKeys();
    const { ask, key } = await service.client({ name: "script", sessions: ["lobby"] });
    const headers = { "x-doorward-session": "lobby" };
    expect((await ask("/v1/chat/completions", { body: chat, headers })).status).toBe(200);
    expect(service.received.at(-1)!.session).toBe("lobby");
    const other = await ask("/v1/chat/completions", { body: chat });
    expect([other.status, other.body.error.code]).toEqual([403, "session_forbidden"]);
    const { body } = await ask("/v1/files", { body: form() });
    expect((await ask(`/v1/files/${body.id}/content`)).text).toBe("x");
    const stored = await service.kernel.services.media.get(body.id);
    expect(stored?.session).toBe(`key:${key.id}/openai/uploaded-files`);
    expect((await ask("/keys/history?session_id=home")).body.error).toBe("session_forbidden");
  });
});

describe("the end of a key", () => {
  test("closes its connections, streams and waits, and no others", async () => {
    await using service = await startKeys({ picoConfig: { max_connections: 4 } });
    service.state.handler = () => new Promise<void>(() => undefined);
    const ann = await service.client({ name: "ann" });
    const bob = await service.client({ name: "bob" });
    const own = await ann.connect("/keys?session_id=home");
    const other = await bob.connect("/keys?session_id=home");
    const events = await fetch(`${service.origin}/keys/events?session_id=home`, {
      headers: { authorization: `Bearer ${ann.secret}` },
    });
    const waiting = ann.ask("/keys/messages?wait=60", post("x"));
    const picoServer = service.kernel.services.picoServer;
    await waitFor(() => picoServer.status().connections === 4);
    await expect(ann.connect()).rejects.toThrow("503");
    const streaming = ann.ask("/v1/chat/completions", { body: { ...chat, stream: true } });
    await waitFor(() => service.received.length === 2);
    await service.keys.revoke("ann");
    expect(await own.closed).toEqual({ code: 1008, reason: "session_ended" });
    await events.text();
    expect((await waiting).status).toBeGreaterThanOrEqual(401);
    expect((await streaming).text).toContain("error");
    await other.settled();
    expect(picoServer.connections().map(({ user }) => user)).toEqual([`key:${bob.key.id}`]);
    await expect(ann.connect()).rejects.toThrow("401");
    other.ws.terminate();
  });

  test("comes for an upload that is on its way", async () => {
    await using service = await startKeys();
    const ann = await service.client({ name: "ann" });
    await service.client({ name: "bob" });
    let send: ((chunk: Uint8Array | undefined) => void) | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        send = (chunk) => (chunk ? controller.enqueue(chunk) : controller.close());
      },
    });
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    const headers = { authorization: `Bearer ${ann.secret}`, "content-type": "text/plain" };
    const uploading = fetch(`${service.origin}/keys/media?session_id=home`, { ...init, headers });
    send!(Buffer.from("half"));
    await waitFor(() => service.keys.list().find(({ name }) => name === "ann")?.lastUsedAt);
    await service.keys.revoke("ann");
    send!(Buffer.from("rest"));
    send!(undefined);
    expect((await uploading).status).toBe(401);
  });
});
