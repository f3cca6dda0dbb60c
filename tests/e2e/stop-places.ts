// The places where a person stops an answer, each with its real client or the requests of one.
import { once } from "node:events";
import type { Browser } from "playwright-core";
import { WebSocket as NodeWebSocket } from "ws";
import { connect } from "../../lib/pico-link/client.ts";
import { tokens, type ProtocolService } from "../support/protocol-service.ts";
import { startClient } from "./client.ts";

/** One client in one session. */
export interface StopPlace extends AsyncDisposable {
  /** Sends a message. Its id names it for `stop`. */
  send(id: string, content: string): Promise<void>;
  /** Everything that the client has received. */
  shown(): Promise<string>;
  /** Stops a message. Resolves with the statuses, if the place shows them. */
  stop(id: string): Promise<readonly string[] | undefined>;
}

export interface StopPlaceKind {
  readonly title: string;
  /** False if a stop ends all messages of the session. */
  readonly isNamed: boolean;
  /** Statuses of a stop after the end, and of one with an id that the session does not have.
   *  Undefined if the place cannot send such a stop. */
  readonly over?: readonly string[];
  readonly unknown?: readonly string[];
  /** The session of the channel. */
  session(name: string): string;
  open(service: ProtocolService, name: string, context: OpenContext): Promise<StopPlace>;
}

interface OpenContext {
  /** Parent directory of homes. */
  readonly folder: string;
  readonly browser: Browser | undefined;
}

interface Stopped {
  readonly stopped: readonly { readonly status: string }[];
}

const json = { "Content-Type": "application/json" };
const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` });
const picoUrl = ({ origin }: ProtocolService): string => `${origin.replace("http", "ws")}/pico`;

/** A client of a protocol over HTTP: each message is a request, whose response is its answer. */
function openRequests(
  { origin }: ProtocolService,
  token: string,
  toRequest: (id: string, content: string) => readonly [path: string, body: object],
) {
  const requests = new Map<string, { readonly leaving: AbortController; text: string }>();
  const post = (path: string, body: object, signal?: AbortSignal): Promise<Response> =>
    fetch(origin + path, {
      method: "POST",
      headers: { ...json, ...bearer(token) },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  const follow = async (id: string, path: string, body: object): Promise<void> => {
    const entry = { leaving: new AbortController(), text: "" };
    requests.set(id, entry);
    const response = await post(path, body, entry.leaving.signal);
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) entry.text += decoder.decode(chunk);
  };
  return {
    requests,
    async send(id: string, content: string) {
      follow(id, ...toRequest(id, content)).catch(() => undefined);
    },
    shown: async () => [...requests.values()].map(({ text }) => text).join("\n"),
    async stopBy(path: string, body: object) {
      const { stopped } = (await (await post(path, body)).json()) as Stopped;
      return stopped.map(({ status }) => status);
    },
    async [Symbol.asyncDispose]() {
      for (const { leaving } of requests.values()) leaving.abort();
    },
  };
}

function openLibrary(service: ProtocolService, sessionId: string) {
  let shown = "";
  const client = connect({
    url: picoUrl(service),
    token: tokens.pico,
    sessionId,
    WebSocket: NodeWebSocket as never,
    headers: true,
    onMessage: ({ content }) => void (shown += `${content}\n`),
    onUpdate: ({ content }) => void (shown += `${content}\n`),
  });
  return {
    send: async (id: string, content: string) =>
      void client.send({ id, content }).accepted.catch(() => undefined),
    shown: async () => shown,
    stop: async (id: string) => (await client.stop(id)).map(({ status }) => status),
    [Symbol.asyncDispose]: async () => client.close(),
  };
}

/** `doorward client -json`, in a process of its own. */
async function openCommand(service: ProtocolService, name: string, folder: string) {
  const client = await startClient(
    { folder, url: picoUrl(service) },
    ["client", "-json", "-session", name, "-timeout", "0"],
    { SERVICE_CHANNELS_PICO_CLIENT_TOKEN: tokens.pico },
  );
  let shown = "";
  client.child.stdout.on("data", (text: string) => (shown += text));
  const write = (frame: object): void =>
    void client.child.stdin.write(`${JSON.stringify(frame)}\n`);
  let stops = 0;
  return {
    send: async (id: string, content: string) =>
      write({ type: "message.send", id, payload: { content } }),
    shown: async () => shown,
    async stop(id: string) {
      stops += 1;
      write({ type: "message.stop", id: `stop-${stops}`, payload: { request_id: id } });
      const find = (): string | undefined =>
        shown.split("\n").find((line) => line.includes(`"request_id":"stop-${stops}"`));
      while (find() === undefined) await once(client.child.stdout, "data");
      const { payload } = JSON.parse(find()!) as { payload: Stopped };
      return payload.stopped.map(({ status }) => status);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** The chat page of the dashboard in a browser. */
async function openPage({ origin }: ProtocolService, name: string, browser: Browser) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${origin}/login`);
  await page.getByLabel("Launcher token", { exact: true }).fill(tokens.launcher);
  await page.keyboard.press("Enter");
  await page.getByText("Live", { exact: true }).waitFor();
  await page.goto(`${origin}/chat/${name}`);
  await page.getByText("Connected", { exact: true }).waitFor();
  return {
    async send(_id: string, content: string) {
      await page.getByLabel("Message", { exact: true }).fill(content);
      await page.keyboard.press("Enter");
    },
    shown: () => page.locator("main").innerText(),
    async stop() {
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      return undefined;
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

const pico = {
  isNamed: true,
  over: ["over"],
  unknown: ["unknown"],
  session: (name: string): string => name,
};

export const stopPlaces: readonly StopPlaceKind[] = [
  {
    ...pico,
    title: "doorward/client",
    open: async (service, name) => openLibrary(service, name),
  },
  {
    ...pico,
    title: "POST /pico/stop",
    async open(service, name) {
      const { stopBy } = openRequests(service, tokens.pico, () => ["", {}]);
      const stop = (id: string): Promise<readonly string[]> =>
        stopBy("/pico/stop", { session_id: name, request_id: id });
      return { ...openLibrary(service, name), stop };
    },
  },
  {
    ...pico,
    title: "doorward client",
    open: (service, name, { folder }) => openCommand(service, name, folder),
  },
  {
    title: "chat page",
    isNamed: false,
    session: (name) => name,
    open: (service, name, { browser }) => openPage(service, name, browser!),
  },
  {
    title: "OpenAI client that closes its connection",
    isNamed: true,
    session: (name) => `openai/${name}`,
    async open(service, name) {
      const { requests, ...client } = openRequests(service, tokens.openai, (_id, content) => [
        "/v1/chat/completions",
        { model: "doorward", stream: true, user: name, messages: [{ role: "user", content }] },
      ]);
      return {
        ...client,
        async stop(id) {
          requests.get(id)!.leaving.abort();
          return undefined;
        },
      };
    },
  },
  {
    title: "POST /ai/chat/ID/stop",
    isNamed: false,
    over: ["over"],
    unknown: [],
    session: (name) => `ai_sdk/${name}`,
    async open(service, name) {
      const client = openRequests(service, tokens.ai_sdk, (id, text) => [
        "/ai/chat",
        { id: name, messages: [{ id, role: "user", parts: [{ type: "text", text }] }] },
      ]);
      return {
        ...client,
        // A page knows the id of an answer once its stream has begun.
        stop(id) {
          const { text = '"messageId":"m-unknown"' } = client.requests.get(id) ?? {};
          const [, activeStreamId] = /"messageId":"([^"]+)"/.exec(text) ?? [];
          return client.stopBy(`/ai/chat/${name}/stop`, { activeStreamId });
        },
      };
    },
  },
  {
    title: "POST /ag-ui/THREAD/stop",
    isNamed: true,
    over: ["over"],
    unknown: [],
    session: (name) => `ag_ui/${name}`,
    async open(service, name) {
      const { stopBy, ...client } = openRequests(service, tokens.ag_ui, (id, content) => [
        "/ag-ui",
        { threadId: name, runId: `run-${id}`, messages: [{ id, role: "user", content }] },
      ]);
      return {
        ...client,
        stop: (id) => stopBy(`/ag-ui/${name}/stop`, { runId: `run-${id}` }),
      };
    },
  },
];
