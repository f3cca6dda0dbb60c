import { expect, test } from "vitest";
import { toReply, type GrowingReply } from "../../../plugins/channels/outbound.ts";

type EndField = "usage" | "finishReason" | "suggestions";

/** Has every field, so that the types demand the next one here. */
const whole: Required<Omit<GrowingReply, EndField>> = {
  content: "text",
  kind: "plan",
  placeholder: true,
  toolCalls: [{ id: "c", name: "n", arguments: "{}" }],
  entries: [{ content: "step", state: "pending" }],
  attachments: [{ type: "image", url: "https://example.test/a.png" }],
  inReplyTo: "other",
  model: "m",
  contextUsage: { used: 1, total: 2 },
  question: { kind: "approval", state: "open" },
  hops: 1,
  final: false,
};

test("toReply keeps every field but those of the end", () => {
  const end = { usage: { input: 1 }, finishReason: "stop", suggestions: ["more"] } as const;
  expect(toReply("m1", { ...whole, ...end })).toEqual(whole);
  expect(toReply("m1", { content: "text" })).toEqual({ content: "text", inReplyTo: "m1" });
});
