// Tests questions of the application through the OpenAI protocol, with its own library.
import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Message, QuestionResult } from "../../../../plugins/channels/index.ts";
import { startProtocols, tokens, type ProtocolService } from "../../../support/protocol-service.ts";
import { optional } from "../../../support/tools.ts";

interface Item {
  readonly type: string;
  readonly id: string;
  readonly arguments: string;
}
interface Response {
  readonly id: string;
  readonly status: string;
  readonly output: readonly Item[];
  readonly output_text: string;
}
interface StreamEvent {
  readonly type: string;
  readonly delta?: string;
  readonly response?: Response;
}
interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
}
interface Completion {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
}
/** The parts of the library that the tests use. */
interface Client {
  readonly responses: { create(body: object, options?: object): Promise<Response> };
  readonly chat: {
    readonly completions: {
      create(body: object, options?: object): Promise<AsyncIterable<Chunk> & Completion>;
    };
  };
}

const library = fileURLToPath(
  new URL("../../../clients/node_modules/openai/index.mjs", import.meta.url),
);
const isInstalled =
  optional(
    existsSync(library) || undefined,
    "the npm package openai (npm ci --prefix tests/clients)",
  ) ?? false;

async function connect({ origin }: ProtocolService): Promise<Client> {
  const { default: OpenAI } = (await import(pathToFileURL(library).href)) as {
    default: new (options: object) => Client;
  };
  return new OpenAI({ baseURL: `${origin}/v1`, apiKey: tokens.openai, maxRetries: 0 });
}

let service: ProtocolService;
let client: Client;
const results: QuestionResult[] = [];
beforeAll(async () => {
  service = await startProtocols({ openaiConfig: { questions: "responses" } });
  if (isInstalled) client = await connect(service);
});
afterAll(() => service[Symbol.asyncDispose]());

const options = [
  { id: "always", label: "Always", effect: "allow", lasting: true },
  { id: "once", label: "Allow once", effect: "allow" },
  { id: "no", label: "Deny", effect: "deny" },
] as const;

/** Asks, and says the effect. */
const asking = async (message: Message): Promise<void> => {
  await message.reply({ content: "I will look." });
  const result = await message.ask({ kind: "approval", content: "Delete 3 files?", options });
  results.push(result);
  await message.reply({ content: `The effect is ${result.effect ?? result.outcome}.` });
};

const create = (body: object, options: object = {}) =>
  client.responses.create({ model: "doorward", ...body }, options);
async function stream(body: object): Promise<readonly StreamEvent[]> {
  const events: StreamEvent[] = [];
  const response: unknown = await create({ ...body, stream: true });
  for await (const event of response as AsyncIterable<StreamEvent>) events.push(event);
  return events;
}

const approvalOf = ({ output }: Pick<Response, "output">): Item =>
  output.find(({ type }) => type === "mcp_approval_request")!;
const answerTo = (id: string, approve: boolean, reason?: string) => [
  { type: "mcp_approval_response", approval_request_id: id, approve, ...(reason && { reason }) },
];

describe.skipIf(!isInstalled)("Responses API", () => {
  test.each([
    [true, "allow", "once"],
    [false, "deny", "no"],
  ])("asks for an approval, and continues with %j", async (approve, effect, option) => {
    service.state.handler = asking;
    const asked = await create({ input: "delete" });
    expect(asked.status).toBe("completed");
    expect(asked.output_text).toMatch(
      /^I will look\.\n\nDelete 3 files\?\n\nWaiting for an answer: http/,
    );
    const { id, arguments: shown } = approvalOf(asked);
    expect(JSON.parse(shown)).toMatchObject({ content: "Delete 3 files?" });
    const input = answerTo(id, approve, "Because");
    const answered = await create({ previous_response_id: asked.id, input });
    expect(answered.output_text).toContain(`The effect is ${effect}.`);
    expect(answered.output_text).not.toContain("I will look.");
    expect(results.at(-1)).toMatchObject({ option, via: "openai", text: "Because" });
  });

  test("streams the question and the rest of the answer", async () => {
    service.state.handler = asking;
    const done = (await stream({ input: "go" })).at(-1)!;
    expect(done.type).toBe("response.completed");
    const { id } = done.response!;
    const input = answerTo(approvalOf(done.response!).id, true);
    const rest = await stream({ previous_response_id: id, input });
    const text = rest.map(({ delta = "" }) => delta).join("");
    expect(text).toContain("The effect is allow.");
  });

  test("continues after another client has answered", async () => {
    service.state.handler = asking;
    const asked = await create({ input: "delete" });
    const [open] = service.channels.questions({ channel: "pico" });
    await service.channels.answer(open!, open!.id, { option: "no" }, { id: "ann" }, "dashboard");
    const input = answerTo(approvalOf(asked).id, true);
    const answered = await create({ previous_response_id: asked.id, input });
    expect(answered.output_text).toContain("The effect is deny.");
    expect(results.at(-1)).toMatchObject({ option: "no", via: "dashboard" });
  });

  test("continues without the response before if the input has the request", async () => {
    service.state.handler = asking;
    const asked = await create({ input: "delete" });
    const request = approvalOf(asked);
    const input = [
      { role: "user", content: "delete" },
      ...asked.output,
      ...answerTo(request.id, true),
    ];
    for (const changed of [{ name: "other" }, { arguments: "{}" }, undefined]) {
      const wrong = input.flatMap((item) =>
        item === request ? (changed ? [{ ...request, ...changed }] : []) : [item],
      );
      expect((await create({ input: wrong })).output_text).toBe("This question is no longer open.");
    }
    expect((await create({ input })).output_text).toContain("The effect is allow.");
  });

  test("does not answer the question of another session", async () => {
    service.state.handler = asking;
    const asked = await create({ input: "delete" });
    const elsewhere = { headers: { "X-Doorward-Session": "other" } };
    const other = await create({ input: answerTo(approvalOf(asked).id, true) }, elsewhere);
    const unknown = await create({ input: answerTo("f".repeat(32), true) }, elsewhere);
    expect(other.output_text).toBe("This question is no longer open.");
    expect(unknown.output_text).toBe(other.output_text);
    const open = service.channels.questions({ channel: "pico" });
    expect(open).toHaveLength(1);
    await service.channels.answer(open[0]!, open[0]!.id, { option: "no" }, undefined, "host");
  });
});

describe.skipIf(!isInstalled)("chat completion", () => {
  test("names the page of a question, and continues with the answer", async () => {
    service.state.handler = asking;
    const chunks = await client.chat.completions.create(
      { model: "doorward", stream: true, messages: [{ role: "user", content: "delete" }] },
      { headers: { "X-Doorward-Session": "home chat" } },
    );
    let text = "";
    for await (const { choices } of chunks) {
      text += choices[0]?.delta.content ?? "";
      const [open] = service.channels.questions({ channel: "pico" });
      if (!open || !text.includes("/ask/")) continue;
      const address = `${service.origin}/ask/openai%2Fhome%20chat/${open.id}`;
      expect(text).toContain(`Waiting for an answer: ${address}`);
      await service.channels.answer(open, open.id, { option: "once" }, { id: "ann" }, "dashboard");
    }
    expect(text).toContain("Allowed (“Allow once”) by ann, in the dashboard.");
    expect(text.endsWith("The effect is allow.")).toBe(true);
  });
});

/** Requests a stream as Open WebUI does. @returns Its text, growing with each event. */
async function* streamText({ origin }: ProtocolService): AsyncGenerator<string> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${tokens.openai}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "doorward",
      stream: true,
      messages: [{ role: "user", content: "delete" }],
    }),
  });
  let events = "";
  for await (const bytes of response.body!.pipeThrough(new TextDecoderStream())) {
    events += bytes;
    const whole = events.slice(0, events.lastIndexOf("\n\n") + 1);
    const data = [...whole.matchAll(/^data: (\{.*)$/gm)];
    yield data
      .map(([, json]) => (JSON.parse(json!) as Chunk).choices[0]?.delta.content ?? "")
      .join("");
  }
}

test.each([
  ["the host of the request", {}, ""],
  ["gateway.public_url", { public_url: "https://chat.example.org/home" }, "/home"],
])("begins the link of a plain stream with %s", async (_name, gatewayConfig, path) => {
  await using own = await startProtocols({ gatewayConfig });
  own.state.handler = asking;
  const origin = path === "" ? own.origin : "https://chat.example.org";
  let text = "";
  for await (text of streamText(own)) {
    const [open] = own.channels.questions({ channel: "pico" });
    if (!open || !text.includes("/ask/")) continue;
    const address = `${origin}${path}/ask/${encodeURIComponent(open.session)}/${open.id}`;
    expect(text).toBe(`I will look.\n\nDelete 3 files?\n\nWaiting for an answer: ${address}`);
    await own.channels.answer(open, open.id, { option: "no" }, { id: "ann" }, "dashboard");
  }
  expect(text.endsWith("The effect is deny.")).toBe(true);
});

test.skipIf(!isInstalled)("answers nothing if only the owner may", async () => {
  await using strict = await startProtocols({
    openaiConfig: { questions: "responses" },
    picoConfig: { answers: "owner" },
  });
  strict.state.handler = asking;
  const own = await connect(strict);
  const asked = await own.responses.create({ model: "doorward", input: "delete" });
  const again = await own.responses.create({
    model: "doorward",
    previous_response_id: asked.id,
    input: answerTo(approvalOf(asked).id, true),
  });
  expect(approvalOf(again).id).toBe(approvalOf(asked).id);
  expect(strict.channels.questions()).toHaveLength(1);
});

test.skipIf(!isInstalled)("ends the wait of a whole completion after question_wait_s", async () => {
  await using short = await startProtocols({ openaiConfig: { question_wait_s: 1 } });
  short.state.handler = asking;
  const own = await connect(short);
  const { choices } = await own.chat.completions.create({
    model: "doorward",
    messages: [{ role: "user", content: "delete" }],
  });
  expect(choices[0]!.message.content).toContain("Waiting for an answer: http");
  expect(short.channels.questions()).toHaveLength(1);
});

const post = (
  { origin }: ProtocolService,
  body: object,
  headers: object = {},
  signal?: AbortSignal,
): Promise<globalThis.Response> =>
  fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${tokens.openai}`,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify({
      model: "doorward",
      messages: [{ role: "user", content: "delete" }],
      ...body,
    }),
    ...(signal && { signal }),
  });
const format = { response_format: { type: "json_object" } };
const textOf = async (response: globalThis.Response): Promise<string> =>
  ((await response.json()) as Completion).choices[0]!.message.content;

describe("completion that is not streamed", () => {
  const startShort = async (question_wait_s: number): Promise<ProtocolService> => {
    const short = await startProtocols({ openaiConfig: { question_wait_s } });
    onTestFinished(() => short[Symbol.asyncDispose]());
    short.state.handler = asking;
    return short;
  };
  const answer = async ({ channels }: ProtocolService): Promise<void> => {
    const [open] = channels.questions({ channel: "pico" });
    await channels.answer(open!, open!.id, { option: "once" }, { id: "ann" }, "dashboard");
  };

  test("names the question, and is whole when the request is repeated", async () => {
    const short = await startShort(0);
    const key = { "Idempotency-Key": "k1" };
    const first = await post(short, {}, key);
    const [open] = short.channels.questions({ channel: "pico" });
    expect(first.headers.get("x-doorward-question")).toBe(open!.id);
    expect(await textOf(first)).toContain("Waiting for an answer: http");
    await answer(short);
    const second = await post(short, {}, key);
    expect(second.headers.get("x-doorward-question")).toBeNull();
    expect(await textOf(second)).toMatch(/Allowed .*The effect is allow\.$/s);
    expect(short.received).toHaveLength(1);
  });

  test("has no link if the answer comes in time", async () => {
    const short = await startShort(60);
    const response = post(short, {});
    await vi.waitFor(() => expect(short.channels.questions()).toHaveLength(1));
    await answer(short);
    expect(await textOf(await response)).not.toContain("/ask/");
  });

  test("fails with a link if the client wants JSON", async () => {
    const short = await startShort(0);
    const response = await post(short, format);
    expect(response.status).toBe(409);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect([error.code, error.message]).toEqual([
      "question_open",
      expect.stringContaining(`/ask/`),
    ]);
    expect(short.channels.questions()).toHaveLength(1);
  });

  test("leaves the question open when the client gives up", async () => {
    const short = await startShort(60);
    const controller = new AbortController();
    const response = post(short, {}, {}, controller.signal);
    await vi.waitFor(() => expect(short.channels.questions()).toHaveLength(1));
    controller.abort();
    await expect(response).rejects.toThrow();
    const count = results.length;
    await answer(short);
    await vi.waitFor(() => expect(results).toHaveLength(count + 1));
    expect(results.at(-1)).toMatchObject({ outcome: "answered", option: "once" });
  });
});

describe("message behind an open question", () => {
  const ids = { session: "behind" };
  const startAsked = async (): Promise<{ own: ProtocolService; id: string }> => {
    const own = await startProtocols({ config: { sessions: "shared" } });
    onTestFinished(() => own[Symbol.asyncDispose]());
    own.state.handler = asking;
    const page = await postTo(own, "ai_sdk", "/ai/chat", {
      id: ids.session,
      messages: [{ id: "q1", role: "user", parts: [{ type: "text", text: "delete" }] }],
    });
    expect(page.text).toContain("tool-approval-request");
    return { own, id: own.channels.questions()[0]!.id };
  };
  async function postTo(
    { origin }: ProtocolService,
    token: "openai" | "ai_sdk" | "ag_ui",
    path: string,
    body: object,
    headers: object = {},
  ) {
    const response = await fetch(origin + path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${tokens[token]}`,
        "content-type": "application/json",
        ...headers,
      },
      body: JSON.stringify(body),
    });
    const { status } = response;
    const question = response.headers.get("x-doorward-question");
    return { status, question, text: await response.text() };
  }
  const named = { "X-Doorward-Session": ids.session };
  const next = { model: "doorward", messages: [{ role: "user", content: "and?" }] };

  test.each([
    ["a chat completion", "openai", "/v1/chat/completions", next],
    ["a stream", "openai", "/v1/chat/completions", { ...next, stream: true }],
    ["a response", "openai", "/v1/responses", { model: "doorward", input: "and?" }],
    [
      "a message part of the AI SDK",
      "ai_sdk",
      "/ai/chat",
      {
        id: ids.session,
        messages: [{ id: "q2", role: "user", parts: [{ type: "text", text: "and?" }] }],
      },
    ],
    [
      "a message of AG-UI",
      "ag_ui",
      "/ag-ui",
      {
        threadId: ids.session,
        runId: "r2",
        messages: [{ id: "q2", role: "user", content: "and?" }],
        tools: [],
        context: [],
      },
    ],
  ] as const)("receives the title and a link as %s", async (_, token, path, body) => {
    const { own, id } = await startAsked();
    const { status, question, text } = await postTo(own, token, path, body, named);
    expect([status, question]).toEqual([200, id]);
    expect(text).toContain("Delete 3 files?");
    expect(text).toContain(`/ask/${ids.session}/${id}`);
    expect(own.received).toHaveLength(1);
  });

  test("fails with a link if the client wants JSON", async () => {
    const { own, id } = await startAsked();
    const path = "/v1/chat/completions";
    const { status, question, text } = await postTo(
      own,
      "openai",
      path,
      { ...next, ...format },
      named,
    );
    expect([status, question]).toEqual([409, id]);
    expect(text).toContain("question_open");
  });
});
