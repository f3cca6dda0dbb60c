// Checks that every output of /v1/responses is accepted as the input of a later request.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Message } from "../../plugins/channels/index.ts";
import { startProtocols, tokens, type ProtocolService } from "../support/protocol-service.ts";

type Item = Readonly<Record<string, unknown>>;

const text = fc.string({ maxLength: 12, unit: "grapheme" });
const callFor = fc.constantFrom("client" as const, undefined);
const call = fc.record({
  name: fc.constantFrom("weather", "other"),
  arguments: text,
  for: callFor,
});
const part = fc.oneof(
  fc.record({ kind: fc.constantFrom(undefined, "thought" as const), content: text }),
  fc.record({ kind: fc.constant("tool_calls" as const), calls: fc.array(call, { maxLength: 3 }) }),
);
const finishReason = fc.constantFrom("stop", "length", "content_filter");
const answer = fc.record({ parts: fc.array(part, { maxLength: 5 }), finishReason });
/** Items that other servers and versions send. */
const foreign = fc.array(
  fc.oneof(
    fc.record({ type: fc.constantFrom("reasoning", "web_search_call", "x"), id: text }),
    fc.record({ type: fc.constant("item_reference"), id: text }),
    fc.record({ type: fc.constant("function_call"), call_id: text, name: text, arguments: text }),
    fc.record({ type: fc.constant("function_call_output"), call_id: text, output: text }),
  ),
  { maxLength: 3 },
);
type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never;

async function write({ reply, end }: Message, { parts, finishReason: reason }: Answer) {
  for (const [index, each] of parts.entries())
    if ("content" in each)
      await reply({ content: each.content, ...(each.kind && { kind: each.kind }) });
    else {
      const toolCalls = each.calls.map(({ for: runner, ...rest }, at) => ({
        id: `call ${index} ${at}`,
        ...rest,
        ...(runner && { for: runner }),
      }));
      await reply({ content: "", kind: each.kind, toolCalls });
    }
  end({ finishReason: reason as "stop" });
}

async function respond({ origin }: ProtocolService, body: object) {
  const response = await fetch(`${origin}/v1/responses`, {
    method: "POST",
    headers: { Authorization: `Bearer ${tokens.openai}`, "Content-Type": "application/json" },
    body: JSON.stringify({ model: "doorward", ...body }),
  });
  return { status: response.status, text: await response.text() };
}

const tools = [{ type: "function", name: "weather", parameters: {} }];

/** The items of the last event or of the object. */
function outputOf(given: string): readonly Item[] {
  const last = given.startsWith("{") ? given : given.split("data: ").at(-1)!;
  const { response, output } = JSON.parse(last) as {
    response?: { output: Item[] };
    output?: Item[];
  };
  return response?.output ?? output!;
}

test("accepts each output as input, with and without results and another message", async () => {
  await using service = await startProtocols();
  await fc.assert(
    fc.asyncProperty(answer, foreign, fc.boolean(), async (given, others, stream) => {
      service.state.handler = (message) => write(message, given);
      const question = { role: "user", content: "hi" };
      const first = await respond(service, { input: [question], tools, stream });
      expect(first.status).toBe(200);
      const output = outputOf(first.text);
      const results = output
        .filter(({ type }) => type === "function_call")
        .map(({ call_id }) => ({ type: "function_call_output", call_id, output: "done" }));
      const before = [question, ...output, ...others];
      const last = { role: "user", content: "go on" };
      const again = await respond(service, { input: [...before, ...results, last], tools });
      expect(again.status, again.text).toBe(200);
      expect(service.received.at(-1)!.content).toBe("go on");
      if (results.length === 0) return;
      const told = await respond(service, { input: [question, ...output, ...results], tools });
      expect(told.status, told.text).toBe(200);
      expect(service.received.at(-1)!.toolResults).toHaveLength(results.length);
    }),
    { numRuns: 60 },
  );
});
