// Protocols at one node, whose session and application are at another one.
import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { agUi } from "../../../plugins/protocols/ag-ui/index.ts";
import { aiSdk } from "../../../plugins/protocols/ai-sdk/index.ts";
import type { Message } from "../../../plugins/channels/index.ts";
import { openai } from "../../../plugins/protocols/openai/index.ts";
import { useChannelNodes, type ChannelNode } from "../../support/redis-channel-server.ts";
import { hasRedis } from "../../support/redis-server.ts";

const { waitFor } = vi;
const { server, start } = useChannelNodes();

const tokens = {
  openai: "openai-".repeat(8),
  ai_sdk: "ai-sdk-".repeat(8),
  ag_ui: "ag-ui-".repeat(8),
};
const enabled = { enabled: true, sessions: "shared" };
const config = {
  "channels.openai": enabled,
  "channels.ai_sdk": enabled,
  "channels.ag_ui": enabled,
};

type App = (message: Message, node: string) => Promise<unknown> | void;

/** Starts a node that has the session `s`, and another one. The application knows its node. */
async function startTwo(app: App): Promise<[ChannelNode, ChannelNode]> {
  const prefix = randomUUID();
  const options = (node: string) => ({
    prefix,
    tokens,
    config,
    plugins: [openai(), aiSdk(), agUi()],
    app: async (message: Message) => {
      if (message.content === "claim") await message.reply({ content: "claimed" });
      else await app(message, node);
    },
  });
  const nodes = [await start(options("a")), await start(options("b"))] as const;
  const client = await nodes[0].connect("/pico?session_id=s&pico_ext=1");
  client.send({ type: "message.send", id: "claim", payload: { content: "claim" } });
  await waitFor(() => expect(client.frames.at(-1)?.type).toBe("message.ack"));
  client.ws.terminate();
  return [...nodes];
}

interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const post = (
  { port }: ChannelNode,
  path: string,
  body: object,
  { headers = {}, signal }: PostOptions = {},
): Promise<Response> => {
  const name = path.startsWith("/v1") ? "openai" : path.startsWith("/ai") ? "ai_sdk" : "ag_ui";
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${tokens[name]}`,
      "Content-Type": "application/json",
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
};

const session = { "X-Doorward-Session": "s" };
const chat = (node: ChannelNode, body: object = {}, options: PostOptions = {}) =>
  post(
    node,
    "/v1/chat/completions",
    { model: "doorward", messages: [{ role: "user", content: "hi" }], ...body },
    { ...options, headers: { ...session, ...options.headers } },
  );

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => void (resolve = done));
  return { promise, resolve };
}

/** The data of the events of a stream. */
async function eventsOf(response: Response): Promise<Record<string, unknown>[]> {
  const text = await response.text();
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(
    ([, data]) => JSON.parse(data!) as Record<string, unknown>,
  );
}

const usage = { input: 3, output: 5 };
const grow: App = async ({ stream }, node) => {
  const reply = stream();
  for (const part of [`from ${node}`, " in", " parts"]) reply.write(part);
  await reply.end({ usage, model: "m-1" });
};

const aiBody = (id = "q1", text = "hi") => ({
  id: "s",
  messages: [{ id, role: "user", parts: [{ type: "text", text }] }],
});
const agBody = (id = "q1", content = "hi") => ({
  threadId: "s",
  runId: `run-${id}`,
  messages: [{ id, role: "user", content }],
  state: {},
  tools: [],
  context: [],
  forwardedProps: {},
});

describe.skipIf(!hasRedis)("ids that another node has issued", () => {
  const call = { id: "call_1", name: "weather", arguments: "{}", for: "client" } as const;
  const tools = [{ type: "function", function: { name: "weather", parameters: {} } }];
  const asked: string[] = [];
  const app: App = async ({ toolResults, session, reply }) => {
    if (toolResults) asked.push(`${session} ${toolResults[0]!.id}`);
    else await reply({ content: "", kind: "tool_calls", toolCalls: [call] });
  };
  const plain = { "X-Doorward-Session": "" };

  test("lead results and next responses to their conversation", async () => {
    const [a, b] = await startTwo(app);
    const body = { tools };
    const calls: { id: string; session: string }[] = [];
    for (const node of [a, b]) {
      const response = await chat(node, body, { headers: plain });
      const [, id = ""] = /"id":"(call_[\w-]+)"/.exec(await response.text()) ?? [];
      calls.push({ id, session: response.headers.get("x-doorward-session")! });
    }
    for (const [node, { id }] of [
      [b, calls[0]!],
      [a, calls[1]!],
    ] as const) {
      const messages = [
        { role: "user", content: "hi" },
        { role: "tool", tool_call_id: id, content: "sunny" },
      ];
      expect((await chat(node, { messages }, { headers: plain })).status).toBe(200);
    }
    expect(asked).toEqual(calls.map(({ session: name }) => `${name} call_1`));
    const first = await post(a, "/v1/responses", { model: "doorward", input: "hi" });
    const { id } = (await first.json()) as { id: string };
    const next = { model: "doorward", input: "and?", previous_response_id: id };
    const second = await post(b, "/v1/responses", next);
    const names = [first, second].map(({ headers }) => headers.get("x-doorward-session"));
    expect(names[1]).toBe(names[0]);
  });
});

describe.skipIf(!hasRedis)("a session of another node", () => {
  test("answers a chat completion with its text and usage", async () => {
    const [, b] = await startTwo(grow);
    const response = await chat(b);
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: "from a in parts" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 5 },
    });
  });

  test("streams a chat completion", async () => {
    const [, b] = await startTwo(grow);
    const body = { stream: true, stream_options: { include_usage: true } };
    const events = await eventsOf(await chat(b, body));
    const deltas = events.flatMap(({ choices }) => choices as { delta?: { content?: string } }[]);
    expect(deltas.map(({ delta }) => delta?.content ?? "").join("")).toBe("from a in parts");
    expect(events.at(-1)).toMatchObject({ usage: { completion_tokens: 5 } });
  });

  test("answers a response of the Responses API with its tool calls", async () => {
    const [, b] = await startTwo(async ({ reply }) => {
      const call = { id: "c1", name: "look", arguments: "{}" };
      await reply({ content: "", kind: "tool_calls", toolCalls: [{ ...call, result: "seen" }] });
      await reply({ content: "done" });
    });
    const response = await post(
      b,
      "/v1/responses",
      { model: "doorward", input: "hi" },
      { headers: session },
    );
    const { output } = (await response.json()) as { output: { type: string }[] };
    expect(JSON.stringify(output)).toContain("done");
  });

  test("streams text, tool calls and files to the AI SDK", async () => {
    const [, b] = await startTwo(async ({ reply, stream }) => {
      const call = { id: "c1", name: "look", arguments: '{"at":1}' };
      await reply({ content: "", kind: "tool_calls", toolCalls: [{ ...call, result: "seen" }] });
      const attachments = [{ type: "image/png", bytes: Buffer.from("png"), filename: "a.png" }];
      const text = stream({ model: "m-1" });
      text.write("see");
      await text.end({ usage, attachments });
    });
    const events = await eventsOf(await post(b, "/ai/chat", aiBody()));
    const types = events.map(({ type }) => type);
    const shown = ["tool-input-available", "tool-output-available", "text-delta", "file", "finish"];
    for (const type of shown) expect(types).toContain(type);
    expect(events.at(-1)).toMatchObject({ messageMetadata: { model: "m-1" } });
  });

  test("streams a run of AG-UI", async () => {
    const [, b] = await startTwo(grow);
    const events = await eventsOf(await post(b, "/ag-ui", agBody()));
    const text = events.map(({ delta }) => delta ?? "").join("");
    expect([text, events.at(-1)?.type]).toEqual(["from a in parts", "RUN_FINISHED"]);
  });

  test("ends a response whose conversation is deleted", async () => {
    const texts: string[] = [];
    const [, b] = await startTwo(({ accept, stream, signal }) => {
      accept();
      stream().write("s3cret");
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
    });
    const response = post(b, "/ai/chat", aiBody());
    const { conversations } = b.services;
    const list = async () => (await conversations.list()).items;
    await waitFor(async () => expect((await list())[0]?.turns).toBeGreaterThan(2));
    await conversations.forget((await list())[0]!.id);
    for (const { type } of await eventsOf(await response)) texts.push(String(type));
    expect(texts).toContain("text-delta");
    expect(await list()).toEqual([]);
    const again = await fetch(`http://127.0.0.1:${b.port}/ai/chat/s/stream`, {
      headers: { Authorization: `Bearer ${tokens.ai_sdk}` },
    });
    expect(again.status).toBe(204);
  });

  test("reports the code of an application that fails after it accepted", async () => {
    const [, b] = await startTwo(async ({ accept, reply }) => {
      accept();
      await reply({ content: "so far" });
      const error = new Error("The answer has no form.");
      throw Object.assign(error, { name: "DoorwardError", code: "bad_answer" });
    });
    const response = await chat(b);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({
      error: { code: "bad_answer", message: "The answer has no form." },
    });
  });

  test("reports an application that rejects the message", async () => {
    const [, b] = await startTwo(() => {
      const error = new Error("Not like this.");
      throw Object.assign(error, { name: "DoorwardError", code: "application_refused" });
    });
    const response = await chat(b);
    const error = { code: "application_refused", message: "Not like this." };
    expect([response.status, await response.json()]).toMatchObject([400, { error }]);
  });

  test("stops the application when the client closes its connection", async () => {
    const stopped: string[] = [];
    const started = deferred();
    const [, b] = await startTwo(({ accept, signal, stream }, node) => {
      accept();
      stream().write("so far");
      started.resolve();
      return new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          stopped.push(node);
          resolve();
        });
      });
    });
    const controller = new AbortController();
    const response = await chat(b, { stream: true }, { signal: controller.signal });
    await started.promise;
    await response.body!.getReader().read();
    controller.abort();
    await waitFor(() => expect(stopped).toEqual(["a"]));
  });

  test("shows an AI SDK stream the message of another client", async () => {
    const release = deferred();
    const [a, b] = await startTwo(async ({ accept, content, reply }) => {
      accept();
      if (content === "hi") await release.promise;
      await reply({ content: `re ${content}` });
    });
    const response = await post(b, "/ai/chat", aiBody());
    const other = await a.fetch("/pico/messages", { session_id: "s", id: "o1", content: "other" });
    expect(other.status).toBe(202);
    release.resolve();
    const events = await eventsOf(response);
    expect(events.map(({ type }) => type)).toContain("data-doorward-turn");
    expect(JSON.stringify(events)).toContain("re hi");
  });

  test("continues when the session gets a new epoch", async () => {
    const release = deferred();
    const begun = deferred();
    const [a, b] = await startTwo(async ({ accept, stream }) => {
      accept();
      const reply = stream();
      reply.write("before");
      begun.resolve();
      await release.promise;
      reply.write(", after");
      await reply.end();
    });
    const answer = chat(b);
    await begun.promise;
    await waitFor(() => expect(a.services.channels.busySessions("pico")).toEqual(["s"]));
    await server().ask("FLUSHALL");
    release.resolve();
    const completion = (await (await answer).json()) as { choices: object[] };
    expect(completion.choices[0]).toMatchObject({ message: { content: "before, after" } });
  });
});
