// Cases about the input of a run.
import { expect } from "vitest";
import { authorization, echo, send, textOf } from "./harness.ts";
import type { Case, Context } from "./reply-cases.ts";

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const input = ({ thread }: Context, more: object = {}): object => ({
  threadId: thread,
  runId: "r1",
  protocolVersion: "1.0",
  state: {},
  messages: [{ id: "u1", role: "user", content: "hi" }],
  tools: [],
  context: [],
  forwardedProps: {},
  ...more,
});

const post = ({ service }: Context, body: unknown, headers: object = {}): Promise<Response> =>
  fetch(service.url, {
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
    "passes earlier messages and its context to the application",
    echo,
    async ({ agent, service, session }) => {
      const created = agent();
      await send(created, "one");
      const context = [{ description: "place", value: "home" }];
      const tools = [{ name: "look", description: "Looks.", parameters: {} }];
      await send(created, "two", { context, tools, forwardedProps: { color: "red" } });
      expect(service.received.at(-1)).toMatchObject({
        session,
        protocol: "ag_ui",
        sender: { id: "token:ag_ui" },
        content: "two",
        previous: [
          { role: "user", content: "one" },
          { role: "assistant", content: "you said one" },
        ],
        tools,
        metadata: { ag_ui: { context, forwardedProps: { color: "red" } } },
      });
    },
  ],
  [
    "sends images, and skips media that cannot be used",
    echo,
    async ({ agent, service }) => {
      const source = { type: "data", value: pixel, mimeType: "image/png" };
      const content = [
        { type: "text", text: "see" },
        { type: "image", source },
        { type: "document", source: { type: "url", value: "https://example.org/a.pdf" } },
      ];
      await send(agent(), content);
      const { content: text, media } = service.received.at(-1)!;
      expect([text, media]).toMatchObject(["see", [{ type: "image/png" }]]);
    },
  ],
  [
    "is served with a newer minor version, unknown fields and ignored roles",
    echo,
    async (context) => {
      const messages = [
        { id: "a1", role: "activity", activityType: "plan", content: { step: 1 } },
        { id: "r1", role: "reasoning", content: "hm" },
        { id: "t1", role: "tool", toolCallId: "c", content: "blue" },
        { id: "u1", role: "user", content: "hi", color: "red" },
      ];
      const response = await post(
        context,
        input(context, { messages, protocolVersion: "1.9", color: "red" }),
      );
      expect(await response.text()).toContain("you said hi");
      expect(context.service.received.at(-1)!.previous).toEqual([
        { role: "tool", content: "blue", toolCallId: "c" },
      ]);
    },
  ],
  [
    "receives only a snapshot if nothing is new",
    echo,
    async (context) => {
      const before = context.service.received.length;
      const messages = [{ id: "a", role: "assistant", content: "old" }];
      const response = await post(context, input(context, { messages }));
      const text = await response.text();
      const types = [...text.matchAll(/"type":"([A-Z_]+)"/g)].map(([, type]) => type);
      expect(types).toEqual(["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
      expect(text).toContain('"content":"old"');
      expect(context.service.received.length).toBe(before);
    },
  ],
  [
    "is rejected for invalid input",
    echo,
    async (context) => {
      const user = { id: "u1", role: "user" };
      const bodies: readonly (readonly [object, number, string])[] = [
        [{ threadId: undefined }, 400, "missing_required_parameter"],
        [{ threadId: "" }, 400, "missing_required_parameter"],
        [{ threadId: "x".repeat(300) }, 400, "unsupported_value"],
        [{ runId: 1 }, 400, "invalid_type"],
        [{ messages: undefined }, 400, "missing_required_parameter"],
        [{ messages: {} }, 400, "invalid_type"],
        [{ messages: [{ ...user, content: 1 }] }, 400, "invalid_type"],
        [{ messages: [{ ...user, content: [1] }] }, 400, "invalid_type"],
        [{ messages: [{ ...user, content: "" }] }, 400, "missing_required_parameter"],
        [{ messages: [{ role: "user", content: "a" }] }, 400, "missing_required_parameter"],
        [{ messages: [{ id: "a", role: "robot" }] }, 400, "unsupported_value"],
        [{ protocolVersion: "2.0" }, 400, "unsupported_value"],
        [{ tools: "none" }, 400, "invalid_type"],
        [{ resume: [{ interruptId: "a", status: "maybe" }] }, 400, "unsupported_value"],
      ];
      const before = context.service.received.length;
      for (const [more, ...expected] of bodies)
        expect(await rejected(post(context, input(context, more))), JSON.stringify(more)).toEqual(
          expected,
        );
      const wrong = post(context, input(context), { Authorization: "Bearer wrong" });
      expect(await rejected(wrong)).toEqual([401, "invalid_api_key"]);
      expect(context.service.received.length).toBe(before);
    },
  ],
  [
    "receives events in the form of the binding",
    echo,
    async (context) => {
      const response = await post(context, input(context));
      expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
      const lines = (await response.text()).split("\n").filter((line) => line !== "");
      for (const line of lines) expect(line).toMatch(/^(?:data: \{.*\}|: ?)$/);
    },
  ],
  [
    "keeps a thread with a slash and an umlaut",
    echo,
    async (context) => {
      const created = context.agent({ threadId: `ö/${context.thread}` });
      await send(created);
      expect(textOf(created)).toBe("you said hi");
      expect(context.service.received.at(-1)!.session).toBe(`ag_ui/ö/${context.thread}`);
    },
  ],
];
