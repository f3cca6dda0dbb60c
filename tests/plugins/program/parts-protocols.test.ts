// Tests that each protocol follows an answer in parts to its end.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startProgramService } from "../../support/program-service.ts";
import { tokens } from "../../support/protocol-service.ts";

/** Writes a text, a tool call, and later its result and another text. */
const agent = `say("ready", { can: ["stop", "parts"] });
  const call = { id: "c", function: { name: "clock", arguments: "{}" } };
  each((m) => {
    if (m.type === "message.stop")
      return say("message.ack", { request_id: m.id, final: true });
    const id = "t" + m.id;
    answer(m, "one");
    answer(m, "", { kind: "tool_calls", message_id: id, tool_calls: [call] });
    if (m.payload.content === "held") return;
    setTimeout(() => {
      say("message.update", { message_id: id, tool_calls: [{ ...call, result: "noon" }] });
      answer(m, "two");
      say("message.ack", { request_id: m.id, final: true, usage: { input_tokens: 3, output_tokens: 2 } });
    }, 30);
  });`;

let service: Awaited<ReturnType<typeof startProgramService>>;
beforeAll(async () => {
  service = await startProgramService(agent);
});
afterAll(() => service[Symbol.asyncDispose]());

const post = (path: string, token: string, body: object): Promise<Response> =>
  fetch(service.origin + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

type Fields = Readonly<Record<string, unknown>>;
/** Reads the events of a stream to its end. */
const eventsOf = async (sent: Promise<Response>): Promise<Fields[]> =>
  [...(await (await sent).text()).matchAll(/^data: (\{.*)$/gm)].map(
    ([, text]) => JSON.parse(text!) as Fields,
  );
const chatOf = (content: string): object => ({
  model: "doorward",
  messages: [{ role: "user", content }],
});

describe("OpenAI", () => {
  test("receives both texts of a chat completion, and then the end", async () => {
    const body = { ...chatOf("hi"), stream: true, stream_options: { include_usage: true } };
    const chunks = await eventsOf(post("/v1/chat/completions", tokens.openai, body));
    const choices = chunks.map(({ choices }) => (choices as Fields[])[0]);
    const texts = choices.map((choice) => (choice?.["delta"] as Fields)?.["content"] ?? "");
    expect(texts.join("")).toBe("one\n\ntwo");
    expect(choices.map((choice) => choice?.["finish_reason"]).filter(Boolean)).toEqual(["stop"]);
    expect(chunks.at(-1)!["usage"]).toMatchObject({ prompt_tokens: 3, completion_tokens: 2 });
  });

  test("receives both texts without a stream", async () => {
    const chat = await post("/v1/chat/completions", tokens.openai, chatOf("hi"));
    expect(await chat.json()).toMatchObject({
      choices: [{ message: { content: "one\n\ntwo" }, finish_reason: "stop" }],
    });
    const given = { model: "doorward", input: "hi" };
    const response = await post("/v1/responses", tokens.openai, given);
    const { output } = (await response.json()) as { output: { type: string; content: Fields[] }[] };
    const message = output.find(({ type }) => type === "message");
    expect(message?.content[0]?.["text"]).toBe("one\n\ntwo");
  });
});

describe("AI SDK", () => {
  const ask = (text: string): Promise<Response> => {
    const message = { id: `q-${text}`, role: "user", parts: [{ type: "text", text }] };
    return post("/ai/chat", tokens.ai_sdk, { id: `chat-${text}`, messages: [message] });
  };

  test("receives both texts and the result of the call before the finish", async () => {
    const chunks = await eventsOf(ask("hi"));
    const told = chunks.flatMap(({ type, delta, output }) =>
      delta || output ? [delta ?? output] : type === "finish" ? ["finish"] : [],
    );
    expect(told).toEqual(["one", "noon", "two", "finish"]);
  });

  test("receives an abort if the answer is stopped after a part", async () => {
    const response = await ask("held");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("tool-input-available")) text += (await reader.read()).value ?? "";
    expect(text).not.toContain('"finish"');
    const stopped = await post("/ai/chat/chat-held/stop", tokens.ai_sdk, {});
    expect(stopped.status).toBe(200);
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    expect(text).toContain('{"type":"abort","reason":"stopped"}');
  });
});

describe("AG-UI", () => {
  test("receives both texts and the result before the run has finished", async () => {
    const { url } = service.kernel.services.agUi.status();
    const body = {
      threadId: "thread",
      runId: "run",
      state: {},
      messages: [{ id: "q", role: "user", content: "hi" }],
      tools: [],
      context: [],
      forwardedProps: {},
    };
    const events = await eventsOf(post(new URL(url!).pathname, tokens.ag_ui, body));
    const told = events.flatMap(({ type, delta, content }) =>
      type === "TEXT_MESSAGE_CONTENT"
        ? [delta]
        : type === "TOOL_CALL_RESULT"
          ? [content]
          : type === "RUN_FINISHED"
            ? [type]
            : [],
    );
    expect(told).toEqual(["one", "noon", "two", "RUN_FINISHED"]);
  });
});
