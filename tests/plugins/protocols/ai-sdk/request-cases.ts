// Cases about the things that a chat sends.
import { expect } from "vitest";
import { authorization, echo, textOf } from "./harness.ts";
import type { Case, Context } from "./reply-cases.ts";

const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const user = (text: string, id = "u1"): object => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});

const post = ({ service }: Context, body: unknown, headers: object = {}): Promise<Response> =>
  fetch(`${service.base}/chat`, {
    method: "POST",
    headers: { ...authorization, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

const rejected = async (sent: Promise<Response>): Promise<[number, string]> => {
  const response = await sent;
  const { error } = (await response.json()) as { error: string };
  return [response.status, error];
};

export const requestCases: readonly Case[] = [
  [
    "keeps the id of the reply",
    echo,
    async ({ chat }) => {
      const created = chat();
      await created.sendMessage({ text: "hi" });
      const { id } = created.messages.at(-1)!;
      expect(id).toMatch(/^m-[0-9a-f]{32}$/);
      await created.resumeStream();
      expect(created.messages.map((message) => message.id).at(-1)).toBe(id);
      expect(created.messages).toHaveLength(2);
      expect(textOf(created)).toBe("you said hi");
    },
  ],
  [
    "receives the headers of the protocol",
    echo,
    async (context) => {
      const response = await post(context, { id: context.id, messages: [user("hi")] });
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-vercel-ai-ui-message-stream": "v1",
        "x-accel-buffering": "no",
      });
      expect(await response.text()).toMatch(/\ndata: \[DONE\]\n\n$/);
    },
  ],
  [
    "may send only the last message",
    echo,
    async (context) => {
      const response = await post(context, { id: context.id, message: user("only") });
      expect(await response.text()).toContain("you said only");
    },
  ],
  [
    "regenerates a reply as a new message",
    echo,
    async ({ chat, service }) => {
      const created = chat();
      await created.sendMessage({ text: "hi" });
      const first = service.received.at(-1)!;
      await created.regenerate();
      const second = service.received.at(-1)!;
      expect(second).toMatchObject({ content: "hi", metadata: { ai_sdk: { regenerate: true } } });
      expect(second.id).not.toBe(first.id);
      expect(created.messages).toHaveLength(2);
      expect(created.status).toBe("ready");
    },
  ],
  [
    "edits a message",
    echo,
    async ({ chat, service }) => {
      const created = chat();
      await created.sendMessage({ text: "one" });
      const messageId = created.messages[0]!.id;
      await created.sendMessage({ text: "two", messageId });
      expect(service.received.at(-1)).toMatchObject({ content: "two" });
      expect([textOf(created), created.messages.length]).toEqual(["you said two", 2]);
    },
  ],
  [
    "passes earlier messages and own fields to the application",
    echo,
    async ({ chat, service, session }) => {
      const created = chat();
      await created.sendMessage({ text: "one" });
      await created.sendMessage({ text: "two" }, { body: { color: "red" } });
      expect(service.received.at(-1)).toMatchObject({
        session,
        protocol: "ai_sdk",
        sender: { id: "token:ai_sdk" },
        content: "two",
        previous: [
          { role: "user", content: "one" },
          { role: "assistant", content: "you said one" },
        ],
        metadata: { ai_sdk: { color: "red" } },
      });
    },
  ],
  [
    "sends an image",
    echo,
    async ({ chat, service }) => {
      const files = [{ type: "file", mediaType: "image/png", url: pixel }];
      const created = chat();
      await created.sendMessage({ text: "see", files });
      const { media } = service.received.at(-1)!;
      expect(media).toMatchObject([{ type: "image/png", bytes: expect.any(Uint8Array) }]);
    },
  ],
  [
    "sends a repeated message once",
    echo,
    async (context) => {
      const body = { id: context.id, messages: [user("hi", "same")] };
      const before = context.service.received.length;
      const [first, second] = await Promise.all([post(context, body), post(context, body)]);
      expect(await first!.text()).toContain("you said hi");
      expect(await second!.text()).toContain("you said hi");
      expect(context.service.received.length).toBe(before + 1);
      const other = { ...body, messages: [user("other", "same")] };
      expect(await rejected(post(context, other))).toEqual([409, "id_reused"]);
    },
  ],
  [
    "is rejected for invalid bodies",
    echo,
    async (context) => {
      const { id } = context;
      const bodies: readonly (readonly [unknown, number, string])[] = [
        [{ id, messages: [{ role: "assistant", parts: [] }] }, 400, "unsupported_value"],
        [{ id, messages: [{ role: "robot", parts: [] }] }, 400, "unsupported_value"],
        [{ id, messages: [] }, 400, "missing_required_parameter"],
        [{ id }, 400, "missing_required_parameter"],
        [{ id, messages: "hi" }, 400, "invalid_type"],
        [{ id, messages: [{ role: "user", parts: "hi" }] }, 400, "invalid_type"],
        [{ id, messages: [{ role: "user", parts: [1] }] }, 400, "invalid_type"],
        [{ id, messages: [user("")] }, 400, "missing_required_parameter"],
        [{ id: "..", messages: [user("hi")] }, 400, "unsupported_value"],
        [{ messages: [user("hi")] }, 400, "unsupported_value"],
        [{ id: "x".repeat(300), messages: [user("hi")] }, 400, "unsupported_value"],
        [{ id, trigger: "x", messages: [user("hi")] }, 400, "unsupported_value"],
        [
          { id, messages: [{ role: "user", parts: [{ type: "file", mediaType: "a/b" }] }] },
          400,
          "invalid_image_url",
        ],
        [[], 400, "invalid_json"],
      ];
      const before = context.service.received.length;
      for (const [body, ...expected] of bodies)
        expect(await rejected(post(context, body)), JSON.stringify(body)).toEqual(expected);
      const withoutToken = post(context, { id }, { Authorization: "" });
      expect(await rejected(withoutToken)).toEqual([401, "invalid_api_key"]);
      expect(context.service.received.length).toBe(before);
    },
  ],
];
