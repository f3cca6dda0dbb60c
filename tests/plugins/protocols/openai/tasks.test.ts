import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startOpenai, tokens, type Service } from "./harness.ts";

/* Chat programs ask for titles and the like on their own. Such requests do not reach the application. */

let service: Service;
beforeAll(async () => {
  service = await startOpenai();
});
afterAll(() => service[Symbol.asyncDispose]());

const history =
  "<chat_history>\nUSER: how tall is the old oak tree outside?\nASSISTANT: 12 m\n</chat_history>";
const template = (task: string): string => `### Task:\n${task}\n### Chat History:\n${history}`;

async function ask(
  content: string,
  { headers = {}, base = service.base, ...more }: Record<string, unknown> & { base?: string } = {},
): Promise<{ status: number; text: string | undefined }> {
  const response = await fetch(`${base}/chat/completions`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${tokens.openai}`,
      "Content-Type": "application/json",
      ...(headers as Record<string, string>),
    },
    body: JSON.stringify({ model: "doorward", messages: [{ role: "user", content }], ...more }),
  });
  const { choices } = (await response.json()) as {
    choices?: readonly { message: { content: string } }[];
  };
  return { status: response.status, text: choices?.[0]!.message.content };
}

const libreChat =
  "Provide a concise, 5-word-or-less title for the conversation. Only return the title itself.\n" +
  "User: how tall is the old oak tree?\nAI: 12 m";

describe("task", () => {
  test.each([
    [
      "title",
      template("Generate a concise, 3-5 word title"),
      '{"title":"how tall is the old oak"}',
    ],
    ["tags", template("Generate 1-3 broad tags"), '{"tags":[]}'],
    ["follow-ups", template("Suggest 3-5 relevant follow-up questions"), '{"follow_ups":[]}'],
    ["queries", template("determine the need of search queries"), '{"queries":[]}'],
    ["LibreChat title", libreChat, "how tall is the old oak"],
  ])("%s receives a local reply", async (_, content, text) => {
    expect(await ask(content)).toEqual({ status: 200, text });
    expect(service.received).toEqual([]);
  });

  test("named by the header receives a local reply", async () => {
    const named = (name: string): Promise<unknown> =>
      ask("any", { headers: { "X-Doorward-Task": name } });
    expect(await named("tags_generation")).toEqual({ status: 200, text: '{"tags":[]}' });
    expect(await named("moa_response_generation")).toMatchObject({ status: 400 });
    expect(service.received).toEqual([]);
    expect(service.status().tasks).toMatchObject({ other: 1 });
  });

  test("receives a stream if it asks for one", async () => {
    const response = await fetch(`${service.base}/chat/completions`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${tokens.openai}`,
        "Content-Type": "application/json",
        "X-Doorward-Task": "tags_generation",
      },
      body: JSON.stringify({
        model: "doorward",
        stream: true,
        messages: [{ role: "user", content: "any" }],
      }),
    });
    expect(await response.text()).toMatch(/"content":"\{\\"tags\\":\[\]\}"[^]*\[DONE\]\n\n$/);
  });

  test("passed on has a session of its own", async () => {
    await using passing = await startOpenai({ tasks: "pass" });
    await ask(template("Generate a concise title"), { base: passing.base, user: "ann" });
    expect(passing.received[0]!.session).toMatch(/^openai\/task-/);
  });
});

describe("turn", () => {
  test("reaches the application with an empty task header", async () => {
    await ask("Generate a concise title", { headers: { "X-Doorward-Task": "" } });
    expect(service.received.map(({ content }) => content)).toEqual(["Generate a concise title"]);
  });
});
