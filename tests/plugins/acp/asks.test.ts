// Permission requests and forms of the agent: only an answer of a person allows anything.
import { describe, expect, test } from "vitest";
import { waitFor } from "../../support/program-harness.ts";
import { startAgent, step } from "../../support/acp-harness.ts";

const call = {
  toolCallId: "t1",
  title: "Remove the build",
  kind: "execute",
  rawInput: { command: "rm -r build" },
  content: [{ type: "content", content: { type: "text", text: "It is made again." } }],
};
const ask = (fields: object = {}) => step("ask", { toolCall: call, ...fields });
const option = (optionId: string, kind: string, name = optionId) => ({ optionId, name, kind });
const selected = (optionId: string) => JSON.stringify({ outcome: "selected", optionId });
const cancelled = JSON.stringify({ outcome: "cancelled" });

type Agent = Awaited<ReturnType<typeof startAgent>>;

/** Runs a prompt, and does this with its question. */
async function settle(
  agent: Agent,
  prompt: string,
  act: (question: Awaited<ReturnType<Agent["question"]>>) => unknown,
) {
  const end = agent.run(prompt);
  const question = await agent.question();
  await act(question);
  await end;
  return question;
}

describe("a permission", () => {
  test("shows step, command and options, and passes the answer on", async () => {
    await using agent = await startAgent();
    const { question, content } = await settle(agent, ask(), async (asked) => {
      // The step is there before the question names it.
      expect(agent.shown()[0]?.toolCalls?.[0]).toMatchObject({ id: "t1", state: "pending" });
      await agent.answer(asked.id, { option: "allow_once" });
    });
    expect(question).toMatchObject({
      kind: "approval",
      title: "Remove the build",
      toolCallId: "t1",
      options: [
        { id: "allow_once", label: "Allow once", effect: "allow" },
        { id: "allow_always", label: "Always allow", effect: "allow", lasting: true },
        { id: "reject_once", label: "Reject", effect: "deny" },
      ],
    });
    expect(content).toBe("Remove the build\n\n```sh\nrm -r build\n```\n\nIt is made again.");
    expect(agent.text()).toBe(selected("once"));
    expect(agent.status()).toMatchObject({ asked: 1, unasked: 0 });
  });

  test.each([
    ["denied", { option: "reject_once" }],
    ["dismissed", { dismiss: true }],
  ])("tells the agent no when it is %s", async (_, answer) => {
    await using agent = await startAgent();
    await settle(agent, ask(), ({ id }) => agent.answer(id, answer));
    expect(agent.text()).toBe(selected("no"));
  });

  test("tells the agent no when its time is over", async () => {
    await using agent = await startAgent({}, { questionMaxS: 0.2 });
    await agent.run(ask());
    expect(agent.text()).toBe(selected("no"));
  });

  test("never allows by itself, even with one option", async () => {
    await using agent = await startAgent();
    const options = [option("always", "allow_always")];
    const { question } = await settle(agent, ask({ options }), ({ id }) =>
      agent.answer(id, { dismiss: true }),
    );
    expect(question.options).toMatchObject([{ effect: "allow" }, { id: "deny", effect: "deny" }]);
    expect(agent.text()).toBe(cancelled);
  });

  test("says no with the option that Doorward adds", async () => {
    await using agent = await startAgent();
    const options = [option("yes", "allow_once")];
    await settle(agent, ask({ options }), ({ id }) => agent.answer(id, { option: "deny" }));
    expect(agent.text()).toBe(cancelled);
  });

  test("keeps one that allows and one that denies among many long options", async () => {
    await using agent = await startAgent();
    const options = [
      ...Array.from({ length: 9 }, (_, at) => option(`${at}`.repeat(100), "allow_always")),
      option("no", "reject_once"),
      option("yes", "allow_once", "Yes ".repeat(50)),
    ];
    const { question } = await settle(agent, ask({ options }), async ({ id, question }) => {
      const once = question.options?.find((item) => item.id.endsWith("allow_once"));
      await agent.answer(id, { option: once!.id });
    });
    expect(question.options).toHaveLength(8);
    expect(question.options?.filter(({ id }) => id.endsWith("_once"))).toHaveLength(2);
    expect(agent.text()).toBe(selected("yes"));
  });

  test("ends as withdrawn when the agent cancels the request", async () => {
    await using agent = await startAgent();
    await agent.run(step("withdraw", call));
    expect(JSON.parse(agent.text())).toMatchObject({ error: { code: -32800 } });
    expect(agent.kernel.services.channels.questions()).toEqual([]);
  });

  test("ends as lost when the agent exits, and the answer fails", async () => {
    await using agent = await startAgent();
    const settled: string[] = [];
    agent.kernel.on("channels:question-settled", ({ outcome }) => void settled.push(outcome));
    const end = agent.run(ask());
    await agent.question();
    process.kill(agent.process().pid!, "SIGKILL");
    expect(await end).toMatchObject({ outcome: "failed" });
    expect(settled).toEqual(["lost"]);
    const { error } = await agent.failures.next("the failure");
    expect(error.message).toContain("SIGKILL");
  });

  test("can be asked a thousand times in one turn", async () => {
    await using agent = await startAgent();
    let asked = 0;
    agent.kernel.on("channels:question-asked", ({ id }) => {
      asked += 1;
      void agent.answer(id, { option: asked % 2 === 0 ? "allow_once" : "reject_once" });
    });
    await agent.say(step("many", 1_000));
    await waitFor(() => agent.text() === "asked 1000");
    const { end } = await agent.ends.next("the end of the answer");
    expect(end.outcome).toBe("completed");
    expect(agent.text()).toBe("asked 1000");
    expect(agent.status().asked).toBe(1_000);
  });
});

describe("a conversation", () => {
  const ran = step("update", {
    sessionUpdate: "tool_call",
    ...{ toolCallId: "r", title: "Run", kind: "execute", status: "completed" },
  });

  test("says on its questions how many steps ran without one", async () => {
    await using agent = await startAgent();
    const contentOf = async (prompt: string, session: string): Promise<string> => {
      await agent.say(prompt, session);
      const { id, content } = await agent.question();
      const address = { channel: "sample", session };
      const { channels } = agent.kernel.services;
      await channels.answer(address, id, { dismiss: true }, { id: "owner" }, "dashboard");
      await agent.ends.next("the end of the answer");
      return content;
    };
    const said = "_Asked 2, ran 1 step that changes something without asking";
    expect(await contentOf(ask(), "s")).not.toContain("without asking");
    expect(await contentOf([ran, ask()].join("\n"), "s")).toContain(said);
    expect(await contentOf(ask(), "other")).not.toContain("without asking");
    expect(agent.status()).toMatchObject({ asked: 3, unasked: 1 });
  });
});

describe("a form", () => {
  const form = (properties: object) =>
    step("form", {
      mode: "form",
      message: "Which port?",
      requestedSchema: { type: "object", title: null, properties, required: null },
    });

  test("leaves out unsupported fields, and passes the values on", async () => {
    await using agent = await startAgent();
    const port = { type: "integer", title: "Port", minimum: 1, description: null };
    const tag = { type: "string", pattern: "^v", oneOf: [{ const: "v1", description: "one" }] };
    const { question } = await settle(agent, form({ port, tag }), ({ id }) =>
      agent.answer(id, { values: { port: 8080, tag: "v1" } }),
    );
    expect(question).toMatchObject({ kind: "form", schema: { properties: { port: {} } } });
    expect(agent.text()).toBe('{"action":"accept","content":{"port":8080,"tag":"v1"}}');
  });

  test.each([
    ["an enum", { type: "string", enum: ["v1", "v2"] }, { option: "option_2" }, '"v2"'],
    [
      "titled values",
      { type: "string", title: "Tag", oneOf: [{ const: "v1", title: "Old" }, { const: "v2" }] },
      { option: "option_1" },
      '"v1"',
    ],
    [
      "a list of values",
      { type: "array", items: { type: "string", enum: ["a", "b", "c"] } },
      { options: ["option_1", "option_3"] },
      '["a","c"]',
    ],
  ])("shows one field of %s as a choice", async (_, tag, answer, value) => {
    await using agent = await startAgent();
    const { question } = await settle(agent, form({ tag }), ({ id }) => agent.answer(id, answer));
    expect(question.kind).toBe("choice");
    expect(agent.text()).toBe(`{"action":"accept","content":{"tag":${value}}}`);
    await settle(agent, form({ tag }), ({ id }) => agent.answer(id, { dismiss: true }));
    expect(agent.text()).toBe('{"action":"decline"}');
  });

  test.each([
    ["many values", { type: "string", enum: "abcdefghi".split("") }],
    ["numbers", { type: "integer", enum: [1, 2] }],
    ["bounds", { type: "array", minItems: 1, items: { type: "string", enum: ["a", "b"] } }],
  ])("makes no choice of one field of %s", async (_, tag) => {
    await using agent = await startAgent();
    const kinds: string[] = [];
    agent.kernel.on("channels:question-asked", ({ id, kind }) => {
      kinds.push(kind);
      void agent.answer(id, { dismiss: true });
    });
    await agent.run(form({ tag }));
    expect(kinds).not.toContain("choice");
    expect(agent.text()).toBe('{"action":"decline"}');
  });

  test("counts as declined when dismissed, or for a secret", async () => {
    await using agent = await startAgent();
    await settle(agent, form({ port: { type: "integer" } }), ({ id }) =>
      agent.answer(id, { dismiss: true }),
    );
    expect(agent.text()).toBe('{"action":"decline"}');
    await agent.run(form({ api_key: { type: "string" } }));
    expect(agent.text()).toBe('{"action":"decline"}');
  });

  test("may be a link, and has no other mode", async () => {
    await using agent = await startAgent();
    const fields = { message: "Sign in", url: "https://example.org/x", elicitationId: "e1" };
    const prompt = step("form", { mode: "url", ...fields });
    const { question } = await settle(agent, prompt, ({ id, question }) => {
      const allows = question.options?.find(({ effect }) => effect === "allow");
      return agent.answer(id, { option: allows!.id });
    });
    expect(question).toMatchObject({ kind: "link", url: "https://example.org/x" });
    expect(agent.text()).toBe('{"action":"accept"}');
    await agent.run(step("form", { mode: "voice", message: "Say it" }));
    expect(JSON.parse(agent.text())).toMatchObject({ error: { code: -32602 } });
  });
});
