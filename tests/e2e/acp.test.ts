// Tests `doorward acp`: an editor on one side, the channel of a running service on the other.
import { isDeepStrictEqual } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { echo, tokens, type Handler } from "../support/protocol-service.ts";
import type { Message } from "../../plugins/channels/index.ts";
import { createQueue } from "../../testkit/index.ts";
import { startCutter } from "../support/cutter.ts";
import { gate } from "../support/sample-channel.ts";
import { asks, select, startEditor, startService, type Rpc } from "./acp.ts";
import { startLauncher } from "./launcher.ts";

/** The words of the question, as content of its call. */
const words = { type: "content", content: { type: "text", text: "May I change it?" } };

async function start(handler?: Handler, answer?: (request: Rpc) => object | undefined) {
  const service = await startService();
  onTestFinished(() => service[Symbol.asyncDispose]());
  if (handler) service.state.handler = handler;
  const editor = startEditor(service.args, service.home, answer);
  onTestFinished(() => editor[Symbol.asyncDispose]());
  return { service, editor };
}

describe("doorward acp", () => {
  test("answers a prompt with the text as it grows", async () => {
    const { service, editor } = await start(async (message) => {
      const stream = message.stream();
      stream.write("Hel");
      stream.write("lo");
      await stream.end();
      await message.reply({ content: "and more" });
    });
    const initialized = await editor.request("initialize", { protocolVersion: 1 });
    expect(initialized.result).toMatchObject({
      protocolVersion: 1,
      agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, resume: {} } },
    });
    const session = await editor.request("session/new", { cwd: "/project", mcpServers: [] });
    const { sessionId } = session.result!;
    const prompt = [
      { type: "text", text: "look at " },
      { type: "resource_link", name: "a.ts", uri: "file:///project/a.ts" },
      { type: "resource", resource: { uri: "file:///project/b.ts", text: "let b;\n" } },
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
    ];
    const answered = await editor.request("session/prompt", { sessionId, prompt });
    expect(answered.result).toEqual({ stopReason: "end_turn" });
    const texts = editor.lines
      .map((line) => JSON.parse(line) as Rpc)
      .flatMap(({ method, params }) => (method === "session/update" ? [params!["update"]] : []))
      .map((update) => (update as { content: { text: string } }).content.text);
    expect(texts.join("")).toBe("Hello\n\nand more");
    expect(service.received[0]).toMatchObject({
      session: sessionId,
      content:
        "look at [a.ts](<file:///project/a.ts>)\n\n[b.ts](<file:///project/b.ts>)\n\n```\nlet b;\n```",
      media: [{ type: "image/png" }],
    });
  });

  test("puts a question with its change, and sends the choice", async () => {
    const { editor } = await start(asks, () => select("once"));
    const sessionId = await editor.open();
    expect((await editor.prompt(sessionId, "go")).result).toEqual({ stopReason: "end_turn" });
    const asked = await editor.requests.next("a request");
    const diff = { type: "diff", path: "/project/a.ts", oldText: "a\n", newText: "b\n" };
    expect(asked).toMatchObject({
      method: "session/request_permission",
      params: {
        toolCall: {
          title: "Edit a.ts",
          kind: "edit",
          locations: [{ path: "/project/a.ts", line: 2 }],
          content: [diff, { type: "content", content: { text: "May I change it?" } }],
        },
        options: [
          { optionId: "once", name: "Allow once", kind: "allow_once" },
          { optionId: "always", name: "Allow always", kind: "allow_always" },
          { optionId: "no", name: "Deny", kind: "reject_once" },
        ],
      },
    });
    expect(editor.lines.join("\n")).toContain("answered once acp");
  });

  test("withdraws a question that another device answers first", async () => {
    const { service, editor } = await start(asks);
    const sessionId = await editor.open();
    const prompted = editor.prompt(sessionId, "go");
    const asked = await editor.requests.next("a request");
    const [question] = service.channels.questions();
    await service.channels.answer(
      { channel: "pico", session: sessionId },
      question!.id,
      { option: "no" },
      { id: "ann" },
      "cli",
    );
    expect(await editor.notifications.next("a notification")).toMatchObject({
      method: "$/cancel_request",
      params: { requestId: asked.id },
    });
    const settled = await editor.updates.next(
      "the settled call",
      ({ status, content }) => status === "failed" && content?.[1] !== undefined,
    );
    expect(settled.content?.filter((item) => isDeepStrictEqual(item, words))).toHaveLength(1);
    editor.reply(asked.id!, select("always"));
    expect((await prompted).result).toEqual({ stopReason: "end_turn" });
    expect(editor.lines.join("\n")).toContain("answered no cli");
  });

  test("stops the answer when the editor cancels", async () => {
    const { editor } = await start(asks);
    const sessionId = await editor.open();
    const prompted = editor.prompt(sessionId, "go");
    const asked = await editor.requests.next("a request");
    editor.reply(asked.id!, { outcome: { outcome: "cancelled" } });
    editor.notify("session/cancel", { sessionId });
    expect((await prompted).result).toEqual({ stopReason: "cancelled" });
    expect(editor.lines.join("\n")).not.toContain("answered");
  });

  test("replays the history of a session that it loads", async () => {
    const { service, editor } = await start(asks, () => select("once"));
    const sessionId = await editor.open();
    await editor.prompt(sessionId, "go");
    editor.end();
    expect(await editor.ended).toBe(0);
    service.state.handler = echo;
    const later = startEditor(service.args, service.home);
    onTestFinished(() => later[Symbol.asyncDispose]());
    await later.request("initialize", { protocolVersion: 1 });
    const loaded = await later.request("session/load", { sessionId, cwd: "/project" });
    expect(loaded.error).toBeUndefined();
    const updates = later.lines
      .slice(1, -1)
      .map((line) => (JSON.parse(line) as Rpc).params!["update"] as { sessionUpdate: string });
    expect(updates).toMatchObject([
      { sessionUpdate: "user_message_chunk", content: { text: "go" } },
      { sessionUpdate: "tool_call", title: "Edit a.ts", status: "completed" },
      { sessionUpdate: "agent_message_chunk" },
      { sessionUpdate: "agent_message_chunk", content: { text: "\n\nanswered once acp" } },
    ]);
    expect((await later.prompt(sessionId, "again")).error).toBeUndefined();
  });

  test("resumes a session without its history, with the open question", async () => {
    const { service, editor } = await start(asks);
    const sessionId = await editor.open();
    void editor.prompt(sessionId, "go");
    await editor.requests.next("a request");
    editor.end();
    await editor.ended;
    const later = startEditor(service.args, service.home, () => select("no"));
    onTestFinished(() => later[Symbol.asyncDispose]());
    await later.request("initialize", { protocolVersion: 1 });
    const resumed = await later.request("session/resume", { sessionId, cwd: "/project" });
    expect(resumed.result).toEqual({});
    expect(await later.requests.next("a request")).toMatchObject({
      method: "session/request_permission",
    });
    await later.updates.next(
      "the end",
      ({ content }) => content?.text?.includes("answered no") === true,
    );
    expect(later.lines.join("\n")).not.toContain("user_message_chunk");
  });

  test("shows forms if the editor has them, else says where to answer", async () => {
    const schema = {
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
    } as const;
    const form: Handler = async (message) => {
      const result = await message.ask({ kind: "form", content: "Who?", schema });
      await message.reply({ content: JSON.stringify(result.values) });
    };
    const accept = { action: "accept", content: { name: "ann" } };
    const { service, editor } = await start(form, () => accept);
    const sessionId = await editor.open({ elicitation: { form: {} } });
    await editor.prompt(sessionId, "go");
    expect(await editor.requests.next("a request")).toMatchObject({
      method: "elicitation/create",
      params: { mode: "form", message: "Who?", requestedSchema: schema },
    });
    expect(editor.lines.join("\n")).toContain(String.raw`{\"name\":\"ann\"}`);
    const other = await editor.request("initialize", { protocolVersion: 1 });
    expect(other.error).toBeUndefined();
    const prompted = editor.prompt(sessionId, "go");
    const { content } = await editor.updates.next(
      "the hint",
      (update) => update.content?.text?.includes("doorward answer") === true,
    );
    expect(content!.text).toContain("Who?");
    const [{ id }] = service.channels.questions() as unknown as [{ id: string }];
    const address = { channel: "pico", session: sessionId };
    await service.channels.answer(address, id, { values: { name: "bob" } }, { id: "ann" }, "cli");
    expect((await prompted).result).toEqual({ stopReason: "end_turn" });
  });

  test("shows what another device sends", async () => {
    const { service, editor } = await start();
    const sessionId = await editor.open();
    const other = startEditor(service.args, service.home);
    onTestFinished(() => other[Symbol.asyncDispose]());
    await other.request("initialize", { protocolVersion: 1 });
    await other.request("session/resume", { sessionId, cwd: "/elsewhere" });
    await other.prompt(sessionId, "from the phone");
    const shown = [await editor.updates.next("a turn"), await editor.updates.next("an answer")];
    expect(shown).toMatchObject([
      { sessionUpdate: "user_message_chunk", content: { text: "from the phone" } },
      { sessionUpdate: "agent_message_chunk", content: { text: "you said from the phone" } },
    ]);
  });

  test("says why a session cannot be opened", async () => {
    const { service } = await start();
    const home = service.home;
    const nowhere = startEditor(
      [...service.args.slice(0, 2), "ws://127.0.0.1:1/pico", ...service.args.slice(3)],
      home,
    );
    onTestFinished(() => nowhere[Symbol.asyncDispose]());
    const { error } = await nowhere.request("session/new", { cwd: "/project", mcpServers: [] });
    expect(error).toEqual({
      code: -32603,
      message: expect.stringContaining("cannot be reached"),
      data: { code: "unreachable" },
    });
    const lost = startEditor(["acp"], home);
    onTestFinished(() => lost[Symbol.asyncDispose]());
    const { error: missing } = await lost.request("session/new", { cwd: "/project" });
    expect(missing?.message).toContain("SERVICE_CHANNELS_PICO_CLIENT_URL");
  });

  test.each([
    ["a method that it lacks", "session/set_mode", {}, -32601],
    ["a relative folder", "session/new", { cwd: "project" }, -32602],
    [
      "a session that is not open",
      "session/prompt",
      { sessionId: "x", prompt: [{ type: "text", text: "a" }] },
      -32602,
    ],
    ["sound", "session/prompt", { sessionId: "x", prompt: [{ type: "sound" }] }, -32602],
  ])("refuses %s", async (_, method, params, code) => {
    const { editor } = await start();
    const { error } = await editor.request(method, params);
    expect(error?.code).toBe(code);
  });

  test("reports an answer that has failed, and goes on", async () => {
    const { service, editor } = await start(() => {
      throw Object.assign(new Error("broken"), { code: "too_busy" });
    });
    const sessionId = await editor.open();
    const { error } = await editor.prompt(sessionId, "go");
    expect(error?.code).toBe(-32603);
    service.state.handler = echo;
    editor.write({ method: 7 });
    expect((await editor.prompt(sessionId, "again")).result).toEqual({ stopReason: "end_turn" });
    expect(editor.errors()).toContain("a line was ignored");
  });

  test("puts a question again whose answer a lost connection swallowed", async () => {
    const { service } = await start(asks);
    await using cutter = await startCutter(service.origin);
    const args = service.args.map((arg) =>
      arg === service.url ? `${cutter.base.replace("http", "ws")}/pico` : arg,
    );
    const editor = startEditor(args, service.home);
    onTestFinished(() => editor[Symbol.asyncDispose]());
    const sessionId = await editor.open();
    const prompted = editor.prompt(sessionId, "go");
    const first = await editor.requests.next("a question");
    cutter.block();
    editor.reply(first.id!, select("once"));
    await editor.updates.next(
      "the problem",
      (update) => update.content?.text?.includes("Not answered") === true,
    );
    cutter.heal();
    const second = await editor.requests.next("the question again");
    editor.reply(second.id!, select("no"));
    expect((await prompted).result).toEqual({ stopReason: "end_turn" });
    expect(editor.lines.join("\n")).toContain("answered no acp");
  });

  test("reads from the history what a long interruption swallowed", async () => {
    const begun = createQueue<Message>();
    const finish = gate();
    const { service } = await start(async (message) => {
      begun.push(message);
      await finish.opened;
      await message.reply({ content: "the answer" });
    });
    await using cutter = await startCutter(service.origin);
    const args = service.args.map((arg) =>
      arg === service.url ? `${cutter.base.replace("http", "ws")}/pico` : arg,
    );
    const editor = startEditor(args, service.home);
    onTestFinished(() => editor[Symbol.asyncDispose]());
    const sessionId = await editor.open();
    const prompted = editor.prompt(sessionId, "go");
    const { channel, session } = await begun.next("the message");
    cutter.block();
    finish.open();
    // More frames than the server keeps for a client that reconnects.
    for (let at = 0; at < 600; at += 1)
      await service.kernel.services.channels.send({ channel, session }, { content: `news ${at}` });
    cutter.heal();
    expect((await prompted).result).toEqual({ stopReason: "end_turn" });
    expect(editor.lines.join("\n")).toContain("the answer");
  });

  test("lists the conversations of the launcher that it belongs to", async () => {
    const launcher = await startLauncher({
      env: { SERVICE_CHANNELS_PICO_ENABLED: "true", SERVICE_CHANNELS_PICO_TOKEN: tokens.pico },
    });
    onTestFinished(() => launcher[Symbol.asyncDispose]());
    const editor = startEditor(
      ["acp", "-session", "work"],
      launcher.home,
      undefined,
      launcher.home,
    );
    onTestFinished(() => editor[Symbol.asyncDispose]());
    const sessionId = await editor.open();
    expect(sessionId).toBe("work");
    await editor.prompt(sessionId, "hello there");
    const { result } = await editor.request("session/list", { cwd: "/project" });
    expect(result).toMatchObject({
      sessions: [{ sessionId: "work", cwd: "/project", title: "hello there" }],
    });
    expect((await editor.request("session/close", { sessionId })).result).toEqual({});
  });
});
