// Tests answers that a program gives in several parts, over real sockets and stores.
import { describe, expect, test } from "vitest";
import { startProgramService } from "../../support/program-service.ts";
import { tokens } from "../../support/protocol-service.ts";

const ready = `say("ready", { can: ["stop", "append", "parts"] });`;
/** Two texts with a tool call between them. A message "go" continues the answers. */
const agent = `${ready}
  const held = [];
  const call = { id: "c", function: { name: "clock", arguments: "{\\"zone\\":\\"UTC\\"}" } };
  each((m) => {
    if (m.type === "message.stop")
      return say("message.ack", { request_id: m.id, final: true });
    const content = m.payload.content;
    if (content === "go") {
      for (const finish of held.splice(0)) finish();
      return say("message.ack", { request_id: m.id, final: true });
    }
    answer(m, "one", { message_id: "a" + m.id, final: false });
    say("message.append", { message_id: "a" + m.id, content: " and a half", final: true });
    answer(m, "hm", { kind: "thought", message_id: "h" + m.id, final: false });
    const tools = { message_id: "t" + m.id, content: "" };
    answer(m, "", { kind: "tool_calls", ...tools, tool_calls: [call], final: false });
    const finish = () => {
      say("message.update", { ...tools, tool_calls: [{ ...call, result: "12:00" }] });
      answer(m, "two");
      const usage = { input_tokens: 3, output_tokens: 2 };
      say("message.ack", { request_id: m.id, final: true, finish_reason: "length", usage });
    };
    if (content === "held") held.push(finish);
    else setTimeout(finish, 30);
  });`;
const extension = "&pico_ext=1&pico_can=stop";

interface Frame {
  readonly type: string;
  readonly seq?: number;
  readonly payload: Readonly<Record<string, unknown>> & { readonly content?: string };
}
type Service = Awaited<ReturnType<typeof startProgramService>>;
type Client = Awaited<ReturnType<Service["open"]>>;

/** Reads frames up to the one that matches. */
async function readUntil(client: Client, matches: (frame: Frame) => boolean): Promise<Frame[]> {
  const frames: Frame[] = [];
  for (;;) {
    frames.push(JSON.parse(await client.frames.next("a frame")) as Frame);
    if (matches(frames.at(-1)!)) return frames;
  }
}
const isEnd = ({ type }: Frame): boolean => type === "answer.end";
const isMessage = ({ type }: Frame): boolean =>
  type === "message.create" || type === "message.update";
const toLine = ({ type, seq, payload }: Frame): string =>
  [
    type.slice("message.".length),
    payload["kind"] ?? "text",
    JSON.stringify(payload.content),
    payload["final"] === true ? "final" : "open",
    seq === undefined ? "" : "numbered",
  ]
    .join(" ")
    .trim();

async function readHistory({ origin }: Service, session: string) {
  const response = await fetch(`${origin}/pico/history?session_id=${session}`, {
    headers: { Authorization: `Bearer ${tokens.pico}` },
  });
  const { turns } = (await response.json()) as {
    turns: { role: string; kind?: string; content: string; complete?: false; toolCalls?: [] }[];
  };
  return turns.map(({ role, kind = "text", content, complete = true, toolCalls = [] }) => ({
    role,
    kind,
    content,
    complete,
    toolCalls,
  }));
}

const clockCall = (more: object): object => ({
  id: "c",
  type: "function",
  function: { name: "clock", arguments: '{"zone":"UTC"}' },
  ...more,
});

describe("an answer in parts", () => {
  test.each(["memory", "sqlite"] as const)(
    "ends once, after all of its messages (%s)",
    async (store) => {
      await using service = await startProgramService(agent, store);
      const client = await service.open("s", extension);
      client.say("1", "now");
      const frames = await readUntil(client, isEnd);
      expect(frames.at(-1)!.payload).toEqual({
        request_id: "1",
        outcome: "completed",
        finish_reason: "length",
        usage: { input_tokens: 3, output_tokens: 2 },
      });
      const messages = frames.filter(isMessage);
      expect(messages.map(({ payload }) => payload["request_id"])).toEqual(messages.map(() => "1"));
      const finals = messages.filter(({ payload }) => payload["final"] === true).map(toLine);
      expect(finals).toEqual([
        'update text "one and a half" final numbered',
        'create text "two" final numbered',
        'update thought "hm" final numbered',
        'update tool_calls "" final numbered',
      ]);
      client.close();
      // Another client receives the stored state of each message.
      const later = await service.open("s", `${extension}&resume=${epochOf(frames)}:0`);
      const replay = await readUntil(
        later,
        ({ payload }) => payload["kind"] === "tool_calls" && payload["final"] === true,
      );
      expect(replay.at(-1)!.payload["tool_calls"]).toEqual([clockCall({ result: "12:00" })]);
      if (store === "memory") return;
      const whole = { role: "assistant", complete: true, toolCalls: [] };
      expect(await readHistory(service, "s")).toEqual([
        { ...whole, role: "user", kind: "text", content: "now" },
        { ...whole, kind: "text", content: "one and a half" },
        { ...whole, kind: "thought", content: "hm" },
        { ...whole, kind: "tool_calls", content: "", toolCalls: [clockCall({ result: "12:00" })] },
        { ...whole, kind: "text", content: "two" },
      ]);
    },
  );

  test.each(["memory", "sqlite"] as const)("stops after a complete part (%s)", async (store) => {
    await using service = await startProgramService(agent, store);
    const client = await service.open("s", extension);
    client.say("1", "held");
    const before = await readUntil(client, ({ payload }) => payload["kind"] === "tool_calls");
    expect(before.some(isEnd)).toBe(false);
    client.stop("1");
    const after = await readUntil(client, isEnd);
    expect(after.find(({ type }) => type === "stop.ack")?.payload["stopped"]).toEqual([
      { request_id: "1", status: "stopping" },
    ]);
    expect(after.filter(isMessage).map(toLine)).toEqual([
      'update thought "hm" final numbered',
      'update tool_calls "" final numbered',
    ]);
    expect(after.at(-1)!.payload).toMatchObject({ outcome: "stopped", finish_reason: "stopped" });
    if (store === "memory") return;
    const turns = await readHistory(service, "s");
    expect(turns.map(({ content, complete }) => [content, complete])).toEqual([
      ["held", true],
      ["one and a half", true],
      ["hm", true],
      ["", true],
    ]);
    expect(turns.at(-1)!.toolCalls).toEqual([clockCall({})]);
  });

  test("appears in Markdown exports with its tool calls", async () => {
    await using service = await startProgramService(agent, "sqlite");
    const client = await service.open("s", extension);
    client.say("1", "now");
    await readUntil(client, isEnd);
    const read = (path: string): Promise<Response> =>
      fetch(`${service.origin}/api/conversations${path}`, {
        headers: { Authorization: `Bearer ${tokens.launcher}` },
      });
    const list = (await (await read("")).json()) as { conversations: { id: string }[] };
    const text = await (await read(`/${list.conversations[0]!.id}/export?format=markdown`)).text();
    expect(text.replace(/, \d{4}-\S+$/gm, "")).toContain(
      [
        "## Assistant, thought\n",
        "hm\n",
        "## Assistant, tool calls\n",
        "**clock**\n",
        '```\n{"zone":"UTC"}\n```\n',
        "Result:\n",
        "```\n12:00\n```\n",
        "## Assistant\n",
        "two\n",
      ].join("\n"),
    );
  });

  test("ends a request with ?wait= after its last part", async () => {
    await using service = await startProgramService(agent);
    const response = await fetch(`${service.origin}/pico/messages?wait=30`, {
      method: "POST",
      headers: { Authorization: `Bearer ${tokens.pico}`, "Content-Type": "application/json" },
      body: JSON.stringify({ session_id: "s", content: "now" }),
    });
    const { status, messages } = (await response.json()) as { status: string; messages: Frame[] };
    expect(status).toBe("accepted");
    expect(messages.filter(isMessage).map(toLine).slice(-3)).toEqual([
      'create text "two" final numbered',
      'update thought "hm" final numbered',
      'update tool_calls "" final numbered',
    ]);
  });
});

const epochOf = (frames: readonly Frame[]): string =>
  String(frames.find(({ type }) => type === "hello")!.payload["epoch"]);
