// Tests replies that are too large to be sent, for each way to receive them.
import { WebSocket } from "ws";
import { on, once } from "node:events";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../kernel/index.ts";
import { echo } from "../../../plugins/echo/index.ts";
import { startProtocols, tokens, type ProtocolService } from "../../support/protocol-service.ts";

const post = async (
  { origin }: ProtocolService,
  path: string,
  token: string,
  body: object,
): Promise<{ readonly status: number; readonly text: string }> => {
  const response = await fetch(origin + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
};

const question = { role: "user", content: "hi" };
const aiSdkMessage = { id: "m1", role: "user", parts: [{ type: "text", text: "hi" }] };
const agUi = { tools: [], context: [], state: {}, forwardedProps: {} };
const openai = { model: "doorward", messages: [question] };

/** Path, token, body, and the status of the response or of its stream. */
const ways = [
  ["/pico/messages", tokens.pico, { content: "hi" }, 502],
  ["/pico/messages?wait=10", tokens.pico, { content: "hi" }, 502],
  ["/v1/chat/completions", tokens.openai, openai, 502],
  ["/v1/chat/completions", tokens.openai, { ...openai, stream: true }, 502],
  ["/v1/responses", tokens.openai, { model: "doorward", input: "hi" }, 502],
  ["/ai/chat", tokens.ai_sdk, { id: "c1", message: aiSdkMessage }, 502],
  [
    "/ag-ui",
    tokens.ag_ui,
    { threadId: "t1", runId: "r1", messages: [{ id: "q1", ...question }], ...agUi },
    502,
  ],
] as const;

describe("a reply that is too large", () => {
  test.each(ways)("has a code of its own at %s", async (path, token, body, status) => {
    await using service = await startProtocols();
    service.state.handler = ({ reply }) => reply({ content: "x".repeat(600_000) });
    const response = await post(service, path, token, body);
    expect(response.status).toBe(status);
    expect(response.text).toContain("reply_too_large");
    expect(service.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("has a code of its own after the message was accepted", async () => {
    await using service = await startProtocols();
    service.state.handler = async ({ reply }) => {
      await reply({ content: "first" });
      await reply({ content: "x".repeat(600_000) });
    };
    const { text } = await post(service, "/v1/chat/completions", tokens.openai, openai);
    expect(text).toContain("reply_too_large");
    expect(JSON.stringify(service.lines)).not.toContain("channel-adapter.ts");
  });

  test("has a code of its own on the WebSocket", async () => {
    await using service = await startProtocols();
    service.state.handler = ({ reply }) =>
      reply({ content: "", attachments: [{ type: "image/png", bytes: new Uint8Array(600_000) }] });
    const url = `${service.origin.replace("http", "ws")}/pico?session_id=s1`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${tokens.pico}` } });
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "message.send", id: "q1", payload: { content: "hi" } }));
    const frames: { type: string; payload: object }[] = [];
    for await (const [data] of on(socket, "message")) {
      frames.push(JSON.parse(String(data)));
      if (frames.at(-1)!.type === "error") break;
    }
    expect(frames.at(-1)!.payload).toMatchObject({ code: "reply_too_large", request_id: "q1" });
    socket.close();
  });

  test("loses parts in the echo", async () => {
    await using service = await startProtocols({ applicationPlugin: echo() as AnyPlugin });
    const image = Buffer.alloc(600_000, 1).toString("base64");
    const media = [`data:image/png;base64,${image}`];
    const path = "/pico/messages?wait=10";
    for (const body of [{ content: "", media }, { content: "x".repeat(700_000) }]) {
      const { status, text } = await post(service, path, tokens.pico, body);
      expect([status, text.slice(0, 200)]).toEqual([200, expect.any(String)]);
      expect(text).toContain("Left out, too large to send");
    }
    expect(service.lines.filter(({ level }) => level === "error")).toEqual([]);
  });
});
