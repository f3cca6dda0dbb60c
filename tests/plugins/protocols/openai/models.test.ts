// Tests the names of models, the usage, the health address and the author of a message.
import { afterEach, describe, expect, test } from "vitest";
import { echo, startOpenai, tokens, type Service } from "./harness.ts";
import { rejection } from "./rejection.ts";

const started: Service[] = [];
async function start(config?: object): Promise<Service> {
  const service = await startOpenai(config);
  started.push(service);
  return service;
}
afterEach(() => Promise.all(started.splice(0).map(({ kernel }) => kernel.stop())));

const authorization = { Authorization: `Bearer ${tokens.openai}` };

const post = (
  { base }: Service,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(base + path, {
    method: "POST",
    headers: { ...authorization, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
const ask = (model: string): object => ({ model, messages: [{ role: "user", content: "hi" }] });
const get = ({ base }: Service, path: string): Promise<Response> =>
  fetch(base + path, { headers: authorization });
const idsOf = async (listed: Promise<Response>): Promise<readonly string[]> => {
  const { data } = (await (await listed).json()) as { data: readonly { id: string }[] };
  return data.map(({ id }) => id);
};

describe("model", () => {
  test("accepts, echoes and passes on any name", async () => {
    const service = await start();
    for (const [path, body] of [
      ["/chat/completions", ask("gpt-4o")],
      ["/responses", { model: "gpt-4o", input: "hi" }],
    ] as const) {
      const reply = (await (await post(service, path, body)).json()) as { model: string };
      expect(reply.model).toBe("gpt-4o");
      expect(service.received.at(-1)!.metadata).toMatchObject({ openai: { model: "gpt-4o" } });
    }
    const streamed = await post(service, "/chat/completions", { ...ask("any"), stream: true });
    expect(await streamed.text()).toContain('"model":"any"');
    expect(await idsOf(get(service, "/models"))).toEqual(["doorward"]);
    expect(await (await get(service, "/models/a%2Fb")).json()).toMatchObject({ id: "a/b" });
  });

  test("rejects other names if the settings list some", async () => {
    const service = await start({ model: "home", models: ["gpt-4o", "home"] });
    expect(await idsOf(get(service, "/models"))).toEqual(["home", "gpt-4o"]);
    for (const name of ["home", "gpt-4o"])
      expect((await post(service, "/chat/completions", ask(name))).status).toBe(200);
    const unknown = [404, "model_not_found"];
    expect(await rejection(post(service, "/chat/completions", ask("gpt-5")))).toEqual(unknown);
    expect(await rejection(get(service, "/models/gpt-5"))).toEqual(unknown);
  });

  test.each(["", "x".repeat(257)])("rejects a name without a useful length", async (name) => {
    const service = await start();
    const sent = post(service, "/chat/completions", ask(name));
    expect(await rejection(sent)).toEqual([400, "unsupported_value"]);
    expect(service.received).toEqual([]);
  });
});

describe("usage", () => {
  test("has zeros where the application reports nothing", async () => {
    const service = await start();
    const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const whole = await post(service, "/chat/completions", ask("m"));
    expect(((await whole.json()) as { usage: object }).usage).toEqual(none);
    const options = { stream: true, stream_options: { include_usage: true } };
    const streamed = await post(service, "/chat/completions", { ...ask("m"), ...options });
    expect(await streamed.text()).toContain(`"choices":[],"usage":${JSON.stringify(none)}}`);
    const response = await post(service, "/responses", { model: "m", input: "hi" });
    expect(((await response.json()) as { usage: object }).usage).toMatchObject({
      input_tokens: 0,
      output_tokens: 0,
      total_tokens: 0,
    });
  });
});

describe("GET /v1/health", () => {
  test("replies to clients with the token", async () => {
    const service = await start();
    const reply = await get(service, "/health");
    expect([reply.status, await reply.json()]).toEqual([200, { status: "ok" }]);
    expect((await fetch(`${service.base}/health`)).status).toBe(401);
  });
});

describe("sender", () => {
  test.each([
    ["OpenAI/Python 3.54.0", "OpenAI client (OpenAI/Python)"],
    ["curl/8.5.0", "OpenAI client (curl)"],
    ["Go-http-client/2.0", "OpenAI client (Go-http-client)"],
    ["Mozilla/5.0 (X11; Linux x86_64)", "OpenAI client"],
    ["<b>/1", "OpenAI client"],
    [`${"x".repeat(400)}/1`, `OpenAI client (${"x".repeat(60)})`],
  ])("takes its name from the product in %s", async (agent, name) => {
    const service = await start();
    service.state.handler = echo;
    await post(service, "/chat/completions", ask("m"), { "User-Agent": agent });
    expect(service.received[0]!.sender).toEqual({ id: "token:openai", name });
  });
});

describe("stream", () => {
  test("begins with an event, not with a comment", async () => {
    const service = await start();
    const reply = await post(service, "/chat/completions", { ...ask("m"), stream: true });
    expect(await reply.text()).toMatch(/^data: \{/);
  });
});
