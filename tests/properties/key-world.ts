/* Ten keys with different rights use the channel and three protocols over real sockets. A second,
 * simple model of the rights checks each message, response and frame. Every text names its author
 * and session, so a text in the wrong place is a leak. */
import fc from "fast-check";
import type { KeyInput, KeyScope } from "../../plugins/keys/index.ts";
import {
  startKeys,
  type Answered,
  type KeyClient,
  type KeyService,
} from "../support/key-service.ts";
import { waitFor, type Client, type Frame } from "../support/pico-server-harness.ts";

const all: readonly KeyScope[] = ["read", "write", "answer", "stop"];
const inputs: readonly KeyInput[] = [
  { name: "ann", scopes: all },
  { name: "bob", scopes: all },
  { name: "reader", scopes: ["read"] },
  { name: "writer", scopes: ["write"] },
  { name: "answerer", scopes: ["answer"] },
  { name: "lobby", scopes: all, sessions: ["lobby"] },
  { name: "team", scopes: ["read", "write"], sessions: ["lobby", "team"] },
  { name: "boss", scopes: all, sessions: "all" },
  { name: "channel", scopes: all, protocols: ["keys"] },
  { name: "phone", scopes: all, protocols: ["openai"] },
];

const keyNumber = fc.nat(inputs.length - 1);
/** A name, or that of a session of another key. */
const place = fc.oneof(
  fc.constantFrom("home", "room", "lobby", "team", "key:", "host:ann/home"),
  fc.record({ of: keyNumber, name: fc.constantFrom("", "home", "openai/home") }),
);
type Place = typeof place extends fc.Arbitrary<infer T> ? T : never;

const kinds = {
  socket: 3,
  frame: 18,
  typing: 4,
  resume: 3,
  post: 14,
  wait: 6,
  history: 12,
  events: 2,
  upload: 5,
  download: 8,
  useFile: 4,
  ask: 3,
  answer: 6,
  stop: 4,
  openai: 8,
  responses: 3,
  openaiFile: 3,
  aiSdk: 4,
  aiMessages: 4,
  aiAnswer: 3,
  agUi: 4,
  badBody: 4,
} as const;
type Kind = keyof typeof kinds;

export const keyOperation = fc.record({
  kind: fc.oneof(
    ...Object.entries(kinds).map(([kind, weight]) => ({
      weight,
      arbitrary: fc.constant(kind as Kind),
    })),
  ),
  key: keyNumber,
  place,
  pick: fc.nat(1_000),
});
type KeyOperation = typeof keyOperation extends fc.Arbitrary<infer T> ? T : never;

interface Tab {
  readonly key: number;
  readonly client: Client;
}

interface SharedFile {
  readonly id: string;
  readonly session: string;
  readonly isUpload: boolean;
  readonly by: number;
}

const allow = [{ id: "yes", label: "Allow", effect: "allow" as const }];
/** Names the author, the session and something that is found in no other text. */
const textOf = (key: number, session: string): string => `<<${key}|${session}>>`;
const marks = /<<(\d+)\|(.*?)>>/g;

/** The state of one run. `leaks` stays empty. */
class World {
  readonly leaks: string[] = [];
  readonly counts = { received: 0, read: 0, forbidden: 0, files: 0, answered: 0 };
  private readonly service: KeyService;
  private readonly clients: KeyClient[] = [];
  private readonly tabs: Tab[] = [];
  private readonly files: SharedFile[] = [];
  private readonly hellos: { readonly epoch: string; readonly conn_id: string }[] = [];

  constructor(service: KeyService) {
    this.service = service;
  }

  async run(operations: readonly KeyOperation[]): Promise<void> {
    for (const input of inputs) this.clients.push(await this.service.client(input));
    this.service.state.handler = async (message) => {
      const { content, session, sender, reply, ask } = message;
      this.receive(content, session, sender?.id);
      if (content.startsWith("ask")) {
        const question = {
          kind: "approval",
          content: `Allow ${content}?`,
          options: allow,
        } as const;
        const { by, outcome } = await ask({ ...question, timeoutMs: 300 });
        // A stop names the key that has stopped the message, which may be its own.
        if (by) this.checkAnswerer(by.id, session, outcome === "stopped" ? "write" : "answer");
        return;
      }
      await reply({ content: `reply to ${content}` });
    };
    for (const each of operations) await this.perform(each);
    for (const { client } of this.tabs) client.ws.terminate();
  }

  private prefix(key: number): string {
    return `key:${this.clients[key]!.key.id}/`;
  }

  private mayUse(key: number, session: string): boolean {
    const { sessions = "own" } = inputs[key]!;
    if (sessions === "all") return true;
    const isOwn = session.startsWith(this.prefix(key)) && session !== this.prefix(key);
    return isOwn || (sessions !== "own" && sessions.includes(session));
  }

  private has(key: number, ...rights: readonly KeyScope[]): boolean {
    return rights.every((right) => inputs[key]!.scopes!.includes(right));
  }

  private uses(key: number, protocol: "keys" | "openai" | "ai_sdk" | "ag_ui"): boolean {
    return inputs[key]!.protocols?.includes(protocol) ?? true;
  }

  private nameOf(each: Place): string {
    return typeof each === "string" ? each : this.prefix(each.of) + each.name;
  }

  /** The session that a name of this key means, if it may use it. */
  private expected(key: number, name: string): string | undefined {
    const isPlain = (inputs[key]!.sessions ?? "own") === "own" && !/^(?:host|key):/.test(name);
    const session = isPlain ? this.prefix(key) + name : name;
    return this.mayUse(key, session) ? session : undefined;
  }

  private ofProtocol(key: number, protocol: string, name: string): string | undefined {
    const { sessions = "own" } = inputs[key]!;
    if (Array.isArray(sessions)) return sessions.includes(name) ? name : undefined;
    return this.expected(key, `${protocol}/${name}`);
  }

  /** Checks a message at the application: its text names its author and session. */
  private receive(content: string, session: string, sender: string | undefined): void {
    this.counts.received += 1;
    const [, key = "", wanted] = /<<(\d+)\|(.*?)>>/.exec(content) ?? [];
    if (sender !== `key:${this.clients[Number(key)]?.key.id}`)
      this.leaks.push(`${sender} wrote as ${key}`);
    if (session !== wanted) this.leaks.push(`${key} wrote to ${session} instead of ${wanted}`);
  }

  private checkAnswerer(id: string, session: string, right: KeyScope): void {
    const key = this.clients.findIndex((client) => `key:${client.key.id}` === id);
    const isStop = right === "write";
    if (!isStop) this.counts.answered += 1;
    const mayAct = this.has(key, right) || (isStop && this.has(key, "stop"));
    if (!mayAct || !this.mayUse(key, session))
      this.leaks.push(`${key} settled a question in ${session}`);
  }

  /** Checks everything that a key has received. */
  private read(key: number, text: string, what: string): void {
    for (const [, , session = ""] of text.matchAll(marks)) {
      this.counts.read += 1;
      if (!this.mayUse(key, session) || !this.has(key, "read"))
        this.leaks.push(`${what}: ${key} read ${session}`);
    }
    for (const { secret } of this.clients)
      if (text.includes(secret.slice(13))) this.leaks.push(`${what}: ${key} received a secret`);
  }

  /** @param allowed - Whether the model permits the request. */
  private check(key: number, what: string, allowed: boolean, { status, text }: Answered): void {
    this.read(key, text, what);
    const isForbidden = status === 403 || status === 404;
    if (isForbidden) this.counts.forbidden += 1;
    if (status >= 500 && status !== 503) this.leaks.push(`${what}: ${key} ${status} ${text}`);
    if (allowed === isForbidden && status !== 503 && status !== 429)
      this.leaks.push(`${what}: ${key} ${status}, allowed ${allowed}: ${text.slice(0, 200)}`);
  }

  private async perform(each: KeyOperation): Promise<void> {
    const name = this.nameOf(each.place);
    await this.steps[each.kind](each.key, name, each.pick);
    for (const { key, client } of this.tabs)
      for (const frame of client.frames.splice(0)) this.readFrame(key, frame);
  }

  private readFrame(key: number, frame: Frame): void {
    this.read(key, JSON.stringify(frame), frame.type);
    const { session_id: session = "" } = frame;
    if (session !== "" && frame.type !== "error" && !this.mayUse(key, session))
      this.leaks.push(`${frame.type}: ${key} received a frame of ${session}`);
    if (frame.type === "hello") this.hellos.push(frame.payload as never);
  }

  private async open(key: number, name: string, stolen?: (typeof this.hellos)[number]) {
    const query = new URLSearchParams({
      session_id: name,
      pico_ext: "1",
      pico_can: "questions,turns,stop,ends",
      ...(stolen && { resume: `${stolen.epoch}:0`, conn: stolen.conn_id }),
    });
    const allowed =
      this.uses(key, "keys") && this.has(key, "read") && this.expected(key, name) !== undefined;
    const client = await this.clients[key]!.connect(`/keys?${query}`).catch(
      (error: Error) => error,
    );
    if (client instanceof Error) {
      if (allowed || !client.message.includes("403")) this.leaks.push(`${key} ${client.message}`);
      return;
    }
    if (!allowed) this.leaks.push(`${key} connected to ${name}`);
    this.tabs.push({ key, client });
    if (this.tabs.length > 24) this.tabs.shift()!.client.ws.terminate();
  }

  private tab(pick: number): Tab | undefined {
    return this.tabs[pick % Math.max(1, this.tabs.length)];
  }

  private async post(key: number, name: string, path: string, lead = ""): Promise<void> {
    const session = this.expected(key, name);
    const body = { session_id: name, content: lead + textOf(key, session ?? name) };
    const rights: KeyScope[] = path.includes("wait") ? ["read", "write"] : ["write"];
    const allowed = this.uses(key, "keys") && this.has(key, ...rights) && session !== undefined;
    this.check(key, path, allowed, await this.clients[key]!.ask(path, { body }));
  }

  private mayRead(key: number, { session, isUpload, by }: SharedFile): boolean {
    return this.mayUse(key, session) && (!isUpload || key === by);
  }

  private file(pick: number): SharedFile | undefined {
    return this.files[pick % Math.max(1, this.files.length)];
  }

  private readonly steps: Readonly<
    Record<Kind, (key: number, name: string, pick: number) => Promise<unknown>>
  > = {
    socket: (key, name) => this.open(key, name),
    resume: (key, name, pick) => this.open(key, name, this.hellos[pick % this.hellos.length]),
    frame: async (_, name, pick) => {
      const tab = this.tab(pick);
      if (!tab || tab.client.ws.readyState !== 1) return;
      const session = this.expected(tab.key, name);
      const content = textOf(tab.key, session ?? name);
      tab.client.send({ type: "message.send", session_id: name, payload: { content } });
      await Promise.race([tab.client.settled(), tab.client.closed]);
    },
    typing: async (_, name, pick) =>
      this.tab(pick)?.client.send({ type: "typing.start", session_id: name }),
    post: (key, name) => this.post(key, name, "/keys/messages"),
    wait: (key, name) => this.post(key, name, "/keys/messages?wait=0.2"),
    history: async (key, name) => {
      const path = `/keys/history?session_id=${encodeURIComponent(name)}`;
      const allowed =
        this.uses(key, "keys") && this.has(key, "read") && this.expected(key, name) !== undefined;
      this.check(key, "history", allowed, await this.clients[key]!.ask(path));
    },
    events: async (key, name) => {
      const ending = new AbortController();
      const { secret } = this.clients[key]!;
      const response = await fetch(
        `${this.service.origin}/keys/events?session_id=${encodeURIComponent(name)}&pico_ext=1`,
        {
          headers: { authorization: `Bearer ${secret}`, "last-event-id": "0:0" },
          signal: ending.signal,
        },
      );
      const allowed =
        this.uses(key, "keys") && this.has(key, "read") && this.expected(key, name) !== undefined;
      if ((response.status === 200) !== allowed)
        this.leaks.push(`events: ${key} ${response.status}`);
      const reader = response.body!.getReader();
      const { value } = await reader.read();
      this.read(key, Buffer.from(value ?? []).toString(), "events");
      ending.abort();
      await reader.cancel().catch(() => undefined);
    },
    upload: async (key, name) => {
      const session = this.expected(key, name);
      const body = Buffer.from(textOf(key, session ?? name));
      const path = `/keys/media?session_id=${encodeURIComponent(name)}`;
      const headers = { "content-type": "text/plain" };
      const answered = await this.clients[key]!.ask(path, { body, headers, method: "POST" });
      const allowed = this.uses(key, "keys") && this.has(key, "write") && session !== undefined;
      this.check(key, "upload", allowed, answered);
      if (answered.status === 201)
        this.files.push({ id: answered.body.id, session: session!, isUpload: false, by: key });
    },
    download: async (key, _, pick) => {
      const file = this.file(pick);
      if (!file) return;
      const ways = [
        ["keys", `/keys/media/${file.id}`],
        ["openai", `/v1/files/${file.id}/content`],
        ["ai_sdk", `/ai/files/${file.id}`],
        ["ag_ui", `/ag-ui/files/${file.id}`],
      ] as const;
      const [protocol, path] = ways[pick % 4]!;
      const answered = await this.clients[key]!.ask(path);
      this.read(key, answered.text, path);
      this.counts.files += answered.status === 200 ? 1 : 0;
      const allowed =
        this.uses(key, protocol) && this.has(key, "read") && this.mayUse(key, file.session);
      if (answered.status === 200 && !allowed) this.leaks.push(`${path}: ${key} read a file`);
      if (answered.status !== 200 && allowed && this.mayRead(key, file) && protocol === "keys")
        this.leaks.push(`${path}: ${key} ${answered.status} ${answered.text}`);
    },
    useFile: async (key, name, pick) => {
      const file = this.file(pick);
      const session = this.expected(key, name);
      if (!file) return;
      const body = {
        session_id: name,
        content: textOf(key, session ?? name),
        media: [{ id: file.id }],
      };
      const { status, text } = await this.clients[key]!.ask("/keys/messages", { body });
      this.read(key, text, "useFile");
      if (status === 202 && session !== file.session)
        this.leaks.push(`useFile: ${key} used a file of ${file.session} in ${session}`);
    },
    ask: (key, name) =>
      Promise.race([
        this.post(key, name, "/keys/messages", "ask "),
        waitFor(() => this.service.channels.questions().length > 0),
      ]),
    answer: async (key, name, pick) => {
      const open = this.service.channels.questions();
      const question = open[pick % Math.max(1, open.length)];
      const session_id = pick % 2 === 0 ? name : (question?.session ?? name);
      const body = { session_id, message_id: question?.id ?? "m", option: "yes" };
      const { status, text } = await this.clients[key]!.ask("/keys/answer", { body });
      this.read(key, text, "answer");
      const session = this.expected(key, session_id);
      const allowed = this.uses(key, "keys") && this.has(key, "answer") && session !== undefined;
      if (status === 200 && !(allowed && session === question?.session))
        this.leaks.push(`answer: ${key} in ${question?.session}`);
      if (allowed && status === 403) this.leaks.push(`answer: ${key} ${text}`);
    },
    stop: async (key, name) => {
      const body = { session_id: name };
      const answered = await this.clients[key]!.ask("/keys/stop", { body });
      const allowed =
        this.uses(key, "keys") &&
        (this.has(key, "stop") || this.has(key, "write")) &&
        this.expected(key, name) !== undefined;
      this.check(key, "stop", allowed, answered);
    },
    openai: async (key, name) => {
      const session = this.ofProtocol(key, "openai", name);
      const headers = { "x-doorward-session": name };
      const messages = [{ role: "user", content: textOf(key, session ?? name) }];
      const body = { model: "doorward", messages };
      const answered = await this.clients[key]!.ask("/v1/chat/completions", { body, headers });
      const isKey = this.uses(key, "openai") && this.has(key, "read", "write");
      this.check(key, "openai", isKey && session !== undefined, answered);
    },
    responses: async (key, name, pick) => {
      const session = this.ofProtocol(key, "openai", name);
      const headers = { "x-doorward-session": name };
      const input = textOf(key, session ?? name);
      const body = { model: "doorward", input, stream: pick % 2 === 0 };
      const answered = await this.clients[key]!.ask("/v1/responses", { body, headers });
      const isKey = this.uses(key, "openai") && this.has(key, "read", "write");
      this.check(key, "responses", isKey && session !== undefined, answered);
    },
    openaiFile: async (key) => {
      const session = `${this.prefix(key)}openai/uploaded-files`;
      const isShared = inputs[key]!.sessions === "all";
      const stored = isShared ? "openai/uploaded-files" : session;
      const body = new FormData();
      body.set("purpose", "user_data");
      body.set("file", new Blob([textOf(key, stored)]), "x.txt");
      const answered = await this.clients[key]!.ask("/v1/files", { body });
      this.check(key, "openaiFile", this.uses(key, "openai") && this.has(key, "write"), answered);
      if (answered.status === 200)
        this.files.push({ id: answered.body.id, session: stored, isUpload: true, by: key });
    },
    aiSdk: async (key, name) => {
      const session = this.ofProtocol(key, "ai_sdk", name);
      const parts = [{ type: "text", text: textOf(key, session ?? name) }];
      const id = `u${this.counts.received}-${this.leaks.length}-${Math.trunc(performance.now())}`;
      const messages = [{ id, role: "user", parts }];
      const body = { id: name, trigger: "submit-message", messages };
      const answered = await this.clients[key]!.ask("/ai/chat", { body });
      const isKey = this.uses(key, "ai_sdk") && this.has(key, "read", "write");
      this.check(key, "aiSdk", isKey && session !== undefined, answered);
    },
    aiMessages: async (key, name) => {
      const path = `/ai/chat/${encodeURIComponent(name)}/messages`;
      const answered = await this.clients[key]!.ask(path);
      const isKey = this.uses(key, "ai_sdk") && this.has(key, "read");
      const session = this.ofProtocol(key, "ai_sdk", name);
      this.check(key, "aiMessages", isKey && session !== undefined, answered);
    },
    aiAnswer: async (key, name, pick) => {
      const open = this.service.channels.questions();
      const question = open[pick % Math.max(1, open.length)];
      const path = `/ai/chat/${encodeURIComponent(name)}/answer`;
      const body = { id: question?.id ?? "m", option: "yes" };
      const { status, text } = await this.clients[key]!.ask(path, { body });
      this.read(key, text, "aiAnswer");
      const session = this.ofProtocol(key, "ai_sdk", name);
      const allowed = this.uses(key, "ai_sdk") && this.has(key, "answer") && session !== undefined;
      if (status === 200 && !(allowed && session === question?.session))
        this.leaks.push(`aiAnswer: ${key} in ${question?.session}`);
    },
    agUi: async (key, name, pick) => {
      const session = this.ofProtocol(key, "ag_ui", name);
      const content = textOf(key, session ?? name);
      const body = {
        threadId: name,
        runId: `r${pick}`,
        messages: [{ id: `u${performance.now()}`, role: "user", content }],
        tools: [],
        context: [],
        state: {},
        forwardedProps: {},
      };
      const answered = await this.clients[key]!.ask("/ag-ui", { body });
      const isKey = this.uses(key, "ag_ui") && this.has(key, "read", "write");
      this.check(key, "agUi", isKey && session !== undefined, answered);
    },
    badBody: async (key, name, pick) => {
      const paths = ["/keys/messages", "/keys/answer", "/v1/responses", "/ai/chat", "/ag-ui"];
      const body = [{ session_id: name, content: 5 }, { id: name, previous_response_id: name }, []];
      const path = paths[pick % paths.length]!;
      const answered = await this.clients[key]!.ask(path, { body: body[pick % 3] });
      this.read(key, answered.text, "badBody");
      if (answered.status < 400) this.leaks.push(`badBody: ${path} ${answered.status}`);
    },
  };
}

/** Performs the operations. @returns everything that a key wrote or read without the right. */
export async function keyLeaksOf(
  operations: readonly KeyOperation[],
): Promise<Pick<World, "leaks" | "counts">> {
  const limits = { message_rate: 0, message_burst: 0, max_connections: 1_000 };
  await using service = await startKeys({ picoConfig: limits });
  const world = new World(service);
  await world.run(operations);
  return world;
}
