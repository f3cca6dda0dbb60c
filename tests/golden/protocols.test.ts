// The protocols of other products: OpenAI, AI SDK and AG-UI, with streams and without.
import { describe, test } from "vitest";
import { expectGolden } from "./golden.ts";
import { pixel, recordOf, reject } from "./pico.ts";
import type { Recording, Sent } from "./recorder.ts";
import { bearer, startService, tokens, type Service } from "./service.ts";

const page = "Origin: https://page.example";
const evil = "Origin: https://evil.example";

interface Post {
  (path: string, body?: object | string, ...headers: string[]): Promise<readonly string[]>;
}

const postWith =
  (record: Recording, token: string): Post =>
  (path, body = {}, ...headers) =>
    record.ask(`POST ${path}`, { headers: [bearer(token), ...headers], body });

/** Sends all that an answer can have. */
function answerAll(service: Service): void {
  service.answer(async ({ reply, end }) => {
    await reply({ content: "thinking", kind: "thought" });
    const call = { id: "c1", name: "look", arguments: '{"at":"sky"}', result: "blue" };
    await reply({ content: "", kind: "tool_calls", toolCalls: [call] });
    await reply({ content: "done", attachments: [{ type: "image/gif", url: pixel }] });
    end({
      usage: { input: 7, output: 2, reasoning: 1, cached: 3 },
      model: "model-1",
      suggestions: ["Again"],
    });
  });
}

/** Sends a request and answers it with text that grows and is replaced. */
async function grow(service: Service, record: Recording, start: string, sent: Sent): Promise<void> {
  const taken = service.take();
  const peer = await record.open(start, sent);
  const message = await taken;
  const stream = message.stream({ model: "model-1" });
  stream.write("Hel");
  await peer.until("Hel");
  stream.write("lo");
  await service.run(peer.until("lo"));
  stream.replace("Bye");
  await service.run(stream.end({ usage: { input: 7, output: 2 } }));
  message.finish();
  await peer.end();
}

/** Requests that every protocol rejects alike. */
async function rejectAll(
  { service, record, post }: { service: Service; record: Recording; post: Post },
  path: string,
  ask: (id: string) => object,
): Promise<void> {
  const good = ask("rejected");
  record.title("rejected requests");
  await record.ask(`POST ${path}`, { body: good });
  await record.ask(`POST ${path}`, { headers: [bearer("wrong")], body: good });
  await post(path, good, evil);
  const asked = ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: x-a"];
  await record.ask(`OPTIONS ${path}`, { headers: [page, ...asked] });
  await record.ask(`OPTIONS ${path}`, { headers: [evil] });
  await post(path, "{", "Content-Type: application/json");
  await post(path, "x", "Content-Type: text/plain");
  await post(path, {});
  await post(`${path}/unknown`, good);
  await record.ask(`DELETE ${path}`, { headers: [bearer(tokens.openai)] });
  service.answer(reject("application_refused"));
  await post(path, good);
  service.answer(() => {
    throw new Error("broken");
  });
  await post(path, ask("broken"));
}

/** Limits of every protocol. */
async function limit(
  service: Service,
  record: Recording,
  token: string,
  path: string,
): Promise<void> {
  const post = postWith(record, token);
  record.title("limits");
  await post(path, { x: "x".repeat(5_000) });
  await post(path, {});
  await post(path, {});
  for (let n = 0; n < 10; n += 1) {
    const { port } = service;
    const headers = { authorization: `Bearer wrong ${n}` };
    await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers });
  }
  await record.ask(`POST ${path}`, { headers: [bearer("wrong")], body: {} });
}

const limits = {
  protocols: { message_rate: 1, message_burst: 2, max_body: 4_096 },
  inMemory: true,
};

describe("the OpenAI protocol", () => {
  test("sends the responses of the golden file", async () => {
    await using service = await startService();
    const record = recordOf(service);
    const post = postWith(record, tokens.openai);
    const headers = [bearer(tokens.openai), "X-Doorward-Session: kitchen"];
    const chat = "/v1/chat/completions";
    const ask = { model: "doorward", messages: [{ role: "user", content: "hello" }] };
    const input = { model: "doorward", input: "hello" };
    const streamed = { ...ask, stream: true, stream_options: { include_usage: true } };

    record.title("models");
    await record.ask("GET /v1/models", { headers });
    await record.ask("GET /v1/models/doorward", { headers });
    await record.ask("GET /v1/models/unknown", { headers });

    record.title("chat completions");
    await post(chat, { ...ask, temperature: 1, user: "ann" }, page, "Idempotency-Key: k1");
    await post(chat, { ...ask, temperature: 1, user: "ann" }, page, "Idempotency-Key: k1");
    answerAll(service);
    await post(chat, ask, "X-Doorward-Session: kitchen");
    answerAll(service);
    await post(chat, streamed, "X-Doorward-Session: kitchen");
    await grow(service, record, `POST ${chat}`, { headers, body: streamed });
    await post(chat, ask, "X-Doorward-Task: title_generation");

    record.title("a streamed answer that fails");
    const taken = service.take();
    const peer = await record.open(`POST ${chat}`, { headers, body: streamed });
    const message = await taken;
    const stream = message.stream();
    stream.write("begun");
    await peer.until("begun");
    message.finish(new Error("broken"));
    stream.abort();
    await service.run(peer.end());

    record.title("responses");
    const first = await post("/v1/responses", input, "X-Doorward-Session: kitchen");
    const { id } = JSON.parse(first.at(-1)!) as { id: string };
    await post("/v1/responses", { ...input, previous_response_id: id, instructions: "Be brief." });
    answerAll(service);
    await post("/v1/responses", { ...input, stream: true });
    await grow(service, record, "POST /v1/responses", {
      headers,
      body: { ...input, stream: true },
    });
    await post("/v1/responses", { ...input, previous_response_id: "resp_none" });

    await rejectAll({ service, record, post }, chat, () => ask);
    await post(chat, { ...ask, model: "unknown" });
    await post(chat, { ...ask, n: 2 });
    await post(chat, { ...ask, messages: [] });
    const image = { type: "image_url", image_url: { url: "ftp://page.example" } };
    await post(chat, { ...ask, messages: [{ role: "user", content: [image] }] });
    await expectGolden("openai.txt", record.text);
  });

  test("has the limits of the golden file", async () => {
    await using service = await startService(limits);
    const record = recordOf(service);
    await limit(service, record, tokens.openai, "/v1/chat/completions");
    await expectGolden("openai-limits.txt", record.text);
  });
});

describe("the AI SDK protocol", () => {
  test("sends the responses of the golden file", async () => {
    await using service = await startService();
    const record = recordOf(service);
    const post = postWith(record, tokens.ai_sdk);
    const headers = [bearer(tokens.ai_sdk)];
    const ask = (id: string, text: string, more: object = {}): object => ({
      id: "kitchen",
      messages: [{ id, role: "user", parts: [{ type: "text", text }] }],
      ...more,
    });
    const get = (path: string) => record.ask(`GET /ai/chat/${path}`, { headers });

    record.title("messages");
    await get("kitchen/stream");
    await post("/ai/chat", ask("m1", "hello"), page);
    await get("kitchen/stream");
    answerAll(service);
    await post("/ai/chat", ask("m2", "all", { trigger: "submit-message", extra: 1 }));
    await grow(service, record, "POST /ai/chat", { headers, body: ask("m3", "grow") });
    await post("/ai/chat", ask("m3", "grow", { trigger: "regenerate-message" }));

    record.title("resume and stop");
    const taken = service.take();
    const first = await record.open("POST /ai/chat", {
      headers,
      body: ask("m4", "long"),
      name: "A",
    });
    const message = await taken;
    const stream = message.stream();
    stream.write("begun");
    await first.until("begun");
    await first.cut();
    const second = await record.open("GET /ai/chat/kitchen/stream", { headers, name: "B" });
    await second.until("begun");
    await post("/ai/chat/kitchen/stop", { activeStreamId: "m-none" });
    await post("/ai/chat/kitchen/stop");
    message.finish();
    await service.run(second.end());
    await get("kitchen/messages");
    await get("unknown/messages");

    await rejectAll({ service, record, post }, "/ai/chat", (id) => ask(id, "hello"));
    await post("/ai/chat", ask("m6", "x", { trigger: "unknown" }));
    await post("/ai/chat", { id: "kitchen", messages: [{ role: "user", parts: "x" }] });
    await get("kitchen");
    await expectGolden("ai-sdk.txt", record.text);
  });

  test("has the limits of the golden file", async () => {
    await using service = await startService(limits);
    const record = recordOf(service);
    await limit(service, record, tokens.ai_sdk, "/ai/chat");
    await expectGolden("ai-sdk-limits.txt", record.text);
  });
});

describe("the AG-UI protocol", () => {
  test("sends the responses of the golden file", async () => {
    await using service = await startService();
    const record = recordOf(service);
    const post = postWith(record, tokens.ag_ui);
    const headers = [bearer(tokens.ag_ui)];
    const ask = (id: string, content: string, more: object = {}): object => ({
      threadId: "kitchen",
      runId: `run-${id}`,
      messages: [{ id, role: "user", content }],
      tools: [],
      context: [],
      state: {},
      forwardedProps: {},
      ...more,
    });

    record.title("runs");
    await post("/ag-ui", ask("m1", "hello"), page);
    await post("/ag-ui", ask("m1", "hello"));
    answerAll(service);
    await post("/ag-ui", ask("m2", "all", { state: { a: 1 } }));
    await grow(service, record, "POST /ag-ui", { headers, body: ask("m3", "grow") });

    record.title("join and stop");
    const taken = service.take();
    const first = await record.open("POST /ag-ui", {
      headers,
      body: ask("m4", "long"),
      name: "A",
    });
    const message = await taken;
    message.accept();
    const stream = message.stream();
    stream.write("begun");
    await first.until("begun");
    await first.cut();
    const second = await record.open("POST /ag-ui", {
      headers,
      body: ask("m4", "long", { runId: "run-joined" }),
      name: "B",
    });
    await second.until("begun");
    await post("/ag-ui/kitchen/stop", { runId: "none" });
    await post("/ag-ui/kitchen/stop", { runId: "run-joined" });
    message.finish();
    await service.run(second.end());
    await post("/ag-ui/kitchen/stop");

    await rejectAll({ service, record, post }, "/ag-ui", (id) => ask(id, "hello"));
    await post("/ag-ui", ask("m6", "x", { protocolVersion: "2.0" }));
    await post("/ag-ui", ask("m7", "x", { messages: [{ role: "user" }] }));
    await expectGolden("ag-ui.txt", record.text);
  });

  test("has the limits of the golden file", async () => {
    await using service = await startService(limits);
    const record = recordOf(service);
    await limit(service, record, tokens.ag_ui, "/ag-ui");
    await expectGolden("ag-ui-limits.txt", record.text);
  });
});
