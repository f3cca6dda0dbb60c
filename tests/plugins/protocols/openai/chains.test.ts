// Tests which conversation a request without the name of a session belongs to.
import { afterEach, describe, expect, test } from "vitest";
import { Chains } from "../../../../plugins/protocols/openai/chains.ts";
import { startProtocols, tokens, type ProtocolService } from "../../../support/protocol-service.ts";

const started: ProtocolService[] = [];
async function start(openaiConfig: object): Promise<ProtocolService> {
  const service = await startProtocols({ openaiConfig });
  started.push(service);
  return service;
}
afterEach(() => Promise.all(started.splice(0).map((service) => service[Symbol.asyncDispose]())));

const history = { sessions_from: "history" };
const long = "Tell me a long story about the garden behind the house, please: ".padEnd(70, "x");
const says = (role: string, content: string): object => ({ role, content });

interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly stream?: boolean;
}

/** Sends a request, and returns the name of its session. */
async function ask(
  { origin }: ProtocolService,
  messages: readonly object[],
  { headers, stream = false }: AskOptions = {},
): Promise<string> {
  const reply = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${tokens.openai}`,
      "Content-Type": "application/json",
      "User-Agent": "test/1.0",
      ...headers,
    },
    body: JSON.stringify({ model: "doorward", stream, messages }),
  });
  await reply.text();
  expect(reply.status).toBe(200);
  return reply.headers.get("x-doorward-session")!;
}

/** The turns after a first request, and the question after them. */
const second = (first = long, reply = `you said ${first}`, next = "go on"): readonly object[] => [
  says("user", first),
  says("assistant", reply),
  says("user", next),
];

describe("sessions from the request", () => {
  test("makes each request a conversation, and names those that continue one", async () => {
    const service = await start({});
    const root = await ask(service, [says("user", "hi")]);
    const next = await ask(service, second("hi"));
    const third = await ask(service, [
      ...second("hi"),
      says("assistant", "you said go on"),
      says("user", "more"),
    ]);
    expect(root).toMatch(/^[0-9a-f]{32}$/);
    for (const name of [next, third]) expect(name).toMatch(new RegExp(`^${root}~[0-9a-f]{16}$`));
    expect(new Set(service.received.map(({ session }) => session)).size).toBe(3);
  });

  test("names no conversation if two have the same turns", async () => {
    const service = await start({});
    const [one, two] = [
      await ask(service, [says("user", "hi")]),
      await ask(service, [says("user", "hi")]),
    ];
    const next = await ask(service, second("hi"));
    expect([one, two].some((name) => next.startsWith(name))).toBe(false);
  });
});

describe("sessions from the history", () => {
  test.each([false, true])("continues the conversation, streamed: %s", async (stream) => {
    const service = await start(history);
    const name = await ask(service, [says("system", "be brief"), says("user", long)], { stream });
    const turns = second(long, ` you said ${long}\n`);
    expect(await ask(service, turns, { stream })).toBe(name);
    const third = [...turns, says("assistant", "you said go on"), says("user", "more")];
    expect(await ask(service, third, { stream })).toBe(name);
    expect(new Set(service.received.map(({ session }) => session)).size).toBe(1);
  });

  test.each([
    ["the last turn differs", second(long, "something else"), {}],
    ["no last reply is there", [says("user", long), says("user", "go on")], {}],
    ["the client is another product", second(), { "User-Agent": "other/1.0" }],
  ])("begins a conversation if %s", async (_, turns, headers) => {
    const service = await start(history);
    const name = await ask(service, [says("user", long)]);
    expect(await ask(service, turns, { headers })).not.toBe(name);
  });

  test("begins a conversation if all earlier turns are short", async () => {
    const service = await start(history);
    const short = "x".repeat(63);
    const name = await ask(service, [says("user", short)]);
    expect(await ask(service, second(short))).not.toBe(name);
    const enough = "y".repeat(64);
    const other = await ask(service, [says("user", enough)]);
    expect(await ask(service, second(enough))).toBe(other);
  });

  test("counts no long system prompt, which all conversations share", async () => {
    const service = await start(history);
    const system = says("system", "x".repeat(100));
    const name = await ask(service, [system, says("user", "hi")]);
    expect(await ask(service, [system, ...second("hi")])).not.toBe(name);
  });

  test("begins a conversation if two fit", async () => {
    const service = await start(history);
    const names = [
      await ask(service, [says("user", long)]),
      await ask(service, [says("user", long)]),
    ];
    expect(names).not.toContain(await ask(service, second()));
  });

  test("begins a conversation after 24 hours", async () => {
    const service = await start(history);
    const name = await ask(service, [says("user", long)]);
    service.state.aheadMs = 24 * 3_600_000;
    expect(await ask(service, second())).not.toBe(name);
  });

  test("begins a conversation if the reply failed", async () => {
    const service = await start(history);
    service.state.handler = async (message) => {
      await message.reply({ content: "half" });
      throw new Error("broken");
    };
    const reply = ask(service, [says("user", long)], { stream: true });
    const name = await reply;
    service.state.handler = ({ reply: send }) => send({ content: "ok" });
    expect(await ask(service, second(long, "half"))).not.toBe(name);
  });

  test("prefers names that the client gives", async () => {
    const service = await start(history);
    await ask(service, [says("user", long)]);
    for (const header of ["X-Doorward-Session", "X-OpenWebUI-Chat-Id", "X-Conversation-Id"])
      expect(await ask(service, second(), { headers: { [header]: "mine" } })).toBe("mine");
  });
});

describe("Chains", () => {
  test.each(["request", "history"] as const)("keeps senders apart, from the %s", (from) => {
    const chains = new Chains({ monotonic: () => 0 });
    const find = (id: string, newName: string, ...said: readonly string[]) => {
      const turns = said.map((content, at) => ({
        role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
        content,
      }));
      const turn = { content: "more", media: [], previous: turns, metadata: {}, left: [] };
      const rights = { owner: false, mayAnswer: true };
      const call = { access: { sender: { id }, scope: undefined, ...rights } };
      return chains.find({ call, client: "curl", turn, from, newName });
    };
    const { watcher: watched } = find("host:ann", "a".repeat(32), long, "yes");
    watched.text("reply");
    watched.over({ outcome: "completed", finishReason: "stop", messages: 1 });
    const turns = [long, "yes", "more", "reply"];
    expect(find("host:ben", "b".repeat(32), ...turns).name).toBe("b".repeat(32));
    expect(find("host:ann", "c".repeat(32), ...turns).name).toMatch(/^a{32}/);
  });
});
