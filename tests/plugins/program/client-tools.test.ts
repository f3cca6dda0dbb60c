// Tests how a program calls the tools of clients.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startProgramService } from "../../support/program-service.ts";
import { tokens } from "../../support/protocol-service.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Shows what it receives, or calls a tool. */
const agent = `say("ready", { can: process.env.DOORWARD_CAN.split(",").filter((n) => n !== "parts") });
  each((m) => {
    const { content, tools, tool_choice, tool_results, previous, continue: continues } = m.payload;
    if (content !== "call")
      return answer(m, JSON.stringify({ content, tools, tool_choice, tool_results, previous, continues }));
    const function_ = { name: "clock", arguments: "{}" };
    say("message.create", { request_id: m.id, kind: "tool_calls",
      tool_calls: [{ id: "c" + m.id, function: function_, for: "client" }] });
  });`;

let service: Awaited<ReturnType<typeof startProgramService>>;
beforeAll(async () => {
  service = await startProgramService(agent);
  await chat([{ role: "user", content: "the answer follows the ready line" }]);
});
afterAll(() => service[Symbol.asyncDispose]());

const tools = [{ type: "function", function: { name: "clock", parameters: { type: "object" } } }];

async function chat(messages: readonly object[], more: object = { tools }) {
  const response = await fetch(`${service.origin}/v1/chat/completions`, {
    method: "POST",
    headers: { Authorization: `Bearer ${tokens.openai}`, "Content-Type": "application/json" },
    body: JSON.stringify({ model: "doorward", messages, ...more }),
  });
  const body = (await response.json()) as Fields & { choices?: { message: Fields }[] };
  return { message: body.choices?.[0]?.message, body, headers: response.headers };
}
const shown = ({ message }: { message: Fields | undefined }): Fields =>
  JSON.parse(message!["content"] as string) as Fields;

describe("program", () => {
  test("receives the tools, calls one, and receives its result", async () => {
    const question = { role: "user", content: "call" };
    const { message, headers } = await chat([question], { tools, tool_choice: "required" });
    expect(headers.get("x-doorward-ignored")).toBeNull();
    const [call] = message!["tool_calls"] as [{ id: string }];
    // The id that leaves is unique; the program receives its own.
    expect(call.id).not.toBe("c2");
    expect(call).toMatchObject({ function: { name: "clock", arguments: "{}" } });
    const result = { role: "tool", tool_call_id: call.id, content: "noon" };
    expect(shown(await chat([question, message!, result]))).toEqual({
      content: "",
      tools: [{ name: "clock", parameters: { type: "object" } }],
      tool_results: [{ id: "c2", name: "clock", content: "noon" }],
      previous: [
        { role: "user", content: "call" },
        {
          role: "assistant",
          content: "",
          tool_calls: [
            { id: "c2", type: "function", function: { name: "clock", arguments: "{}" } },
          ],
        },
      ],
    });
  });

  test("ends the answer with a call that does not leave", async () => {
    const { message, body } = await chat([{ role: "user", content: "call" }], {});
    expect(message).toMatchObject({ content: "" });
    expect(body["choices"]).toMatchObject([{ finish_reason: "stop" }]);
  });

  test("continues a last message of the assistant", async () => {
    const messages = [
      { role: "user", content: "count" },
      { role: "assistant", content: "one, two," },
    ];
    expect(shown(await chat(messages, {}))).toEqual({
      content: "",
      previous: messages,
      continues: true,
    });
  });
});
