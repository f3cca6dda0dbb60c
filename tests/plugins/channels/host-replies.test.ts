// Tests what a host writes: each field is checked where it enters, and updates keep fields.
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { application, channels, type Application } from "../../../plugins/channels/index.ts";
import { createSampleChannel } from "../../support/sample-channel.ts";

const wrong = [null, 3, 10n, {}, "text", true, [], [null], [{}], () => 1] as const;
/** Values that a field accepts. */
const right: Readonly<Record<string, (value: unknown) => boolean>> = {
  content: (value) => typeof value === "string",
  kind: () => false,
  placeholder: (value) => value === true,
  final: (value) => value === true,
  toolCalls: (value) => Array.isArray(value) && value.length === 0,
  entries: (value) => Array.isArray(value) && value.length === 0,
  attachments: (value) => Array.isArray(value) && value.length === 0,
  inReplyTo: (value) => value === "text",
  model: (value) => value === "text",
  contextUsage: () => false,
  usage: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  finishReason: () => false,
  hops: (value) => value === 3,
};
const fields = Object.keys(right).flatMap((field) =>
  wrong.map((value) => [field, value, right[field]!(value)] as const),
);
const typeOf = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : `${typeof value} ${String(value)}`;

/** Runs one message, and returns what the channel was sent, with the warnings of the log. */
async function run(handler: Application) {
  const updates: unknown[] = [];
  const channel = createSampleChannel({
    update: (_, id, message) => (updates.push(message), { id, status: "written" }),
  });
  let failure: { readonly code: string; readonly message: string } | undefined;
  const logged: unknown[] = [];
  await withKernel([channels(), channel.plugin, application(handler)], async ({ lines }) => {
    await channel
      .inlet()
      .deliver(channel.message({ id: "a" }))
      .catch(({ code, message }: Error & { code: string }) => (failure = { code, message }));
    logged.push(...lines);
  });
  return { failure, updates, sent: channel.sent.map(({ message }) => message), logged };
}

const call = { id: "c", name: "read", arguments: "{}" } as const;

describe("a reply", () => {
  test.each(fields.map((each) => [`${each[0]}: ${typeOf(each[1])}`, each] as const))(
    "takes only valid fields: %s",
    async (_, [field, value, isRight]) => {
      const { failure, sent } = await run(
        async ({ reply }) => void (await reply({ content: "a", [field]: value } as never)),
      );
      if (isRight) return expect([failure, sent.length]).toEqual([undefined, 1]);
      expect(failure?.code).toBe("reply_invalid");
      expect(failure?.message).toContain(`"${field}`);
      expect(sent).toEqual([]);
    },
  );

  test.each([null, undefined])("needs no text if it has tool calls: %s", async (content) => {
    const { sent } = await run(
      async ({ reply }) =>
        void (await reply({ content, kind: "tool_calls", toolCalls: [call] } as never)),
    );
    expect(sent).toEqual([{ content: "", kind: "tool_calls", toolCalls: [call], inReplyTo: "a" }]);
  });

  test("writes arguments that are an object as JSON", async () => {
    const { sent } = await run(
      async ({ reply }) =>
        void (await reply({
          content: "",
          toolCalls: [{ ...call, arguments: { path: "a.txt" }, result: { lines: 3 } }],
        } as never)),
    );
    expect(sent[0]?.toolCalls).toEqual([
      { ...call, arguments: '{"path":"a.txt"}', result: '{"lines":3}' },
    ]);
  });

  test("leaves unknown fields out", async () => {
    const { sent } = await run(
      async ({ reply }) => void (await reply({ content: "a", extra: 10n } as never)),
    );
    expect(sent).toEqual([{ content: "a", inReplyTo: "a" }]);
  });

  test("sends a stored file under its type", async () => {
    const file = { id: "m_1", contentType: "text/plain", filename: "a.txt", size: 3, sha256: "0" };
    const { sent } = await run(
      async ({ reply }) => void (await reply({ content: "", attachments: [file] } as never)),
    );
    const { contentType: type, ...rest } = file;
    expect(sent[0]?.attachments).toEqual([{ ...rest, type }]);
  });
});

describe("an update of a reply", () => {
  test("keeps the kind, the calls and the message it answers", async () => {
    const { updates } = await run(async (message) => {
      const other = { ...call, id: "d" };
      const { id } = await message.reply({
        content: "",
        kind: "tool_calls",
        toolCalls: [call, other],
        final: false,
        inReplyTo: "b",
      });
      await message.update(id, { content: "" });
      const done = { ...call, result: "well" };
      await message.update(id, { content: "", toolCalls: [done], final: true });
      await message.update(id, { content: "end" });
    });
    const [other, done] = [
      { ...call, id: "d" },
      { ...call, result: "well" },
    ];
    const kept = { kind: "tool_calls", inReplyTo: "b" };
    expect(updates).toEqual([
      { content: "", ...kept, toolCalls: [call, other] },
      { content: "", ...kept, toolCalls: [done, other], final: true },
      { content: "end", ...kept, toolCalls: [done, other] },
    ]);
  });

  test("names the message and the added text", async () => {
    const { updates } = await run(async (message) => {
      const { id } = await message.reply({ content: "a", final: false });
      await message.update(id, { content: "ab", added: "b", final: true });
    });
    expect(updates).toEqual([{ content: "ab", inReplyTo: "a", final: true, added: "b" }]);
  });
});

describe("the end of an answer", () => {
  test("leaves facts of a wrong type out, with a warning", async () => {
    const { failure, logged } = await run(({ end }) =>
      end({ usage: { input: 10n }, model: "m", finishReason: "tired" } as never),
    );
    expect(failure).toBeUndefined();
    const text = "facts about the end of an answer are left out: they have a wrong type";
    expect(logged).toContainEqual(
      expect.objectContaining({ text, facts: ["usage", "finishReason"] }),
    );
  });
});
