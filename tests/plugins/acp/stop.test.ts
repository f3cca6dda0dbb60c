import { describe, expect, test } from "vitest";
import { startAgent, step } from "../../support/acp-harness.ts";
import { waitFor } from "../../support/program-harness.ts";

const call = { toolCallId: "t1", title: "Run it", kind: "execute", status: "in_progress" };
const ask = step("ask", { toolCall: call });

describe("a stop", () => {
  test("ends a working turn, and its open steps", async () => {
    await using agent = await startAgent();
    const end = agent.run(
      step("update", { sessionUpdate: "tool_call", ...call }),
      step("work", true),
    );
    await waitFor(() => agent.text().includes("3 "));
    await agent.halt();
    expect(await end).toMatchObject({ outcome: "stopped" });
    expect(agent.shown()[0]).toMatchObject({ final: true, toolCalls: [{ state: "failed" }] });
    await agent.run("next");
    expect(agent.text()).toBe("next");
  });

  test("cancels the turn before it answers an open permission", async () => {
    await using agent = await startAgent();
    const end = agent.run(ask, "this is not said");
    await agent.question();
    await agent.halt();
    expect(await end).toMatchObject({ outcome: "stopped" });
    const lines = await waitFor(() => {
      const got = agent.got().filter((line) => /^answer|session\/cancel/.test(line));
      return got.length === 2 && got;
    });
    expect(lines[0]).toContain("session/cancel");
    expect(lines[1]).toBe('answer {"outcome":{"outcome":"cancelled"}}');
    expect(agent.text()).toBe("");
  });

  test("sends no prompt while a session is being opened", async () => {
    await using agent = await startAgent({ blocks: true });
    const working = agent.say(step("work", true), "other");
    await working;
    await waitFor(() => agent.got().some((line) => line.includes("session/prompt")));
    const end = agent.run("never sent");
    await waitFor(() => agent.got().filter((line) => line.includes("session/new")).length === 2);
    await agent.halt();
    expect(await end).toMatchObject({ outcome: "stopped" });
    expect(agent.got().filter((line) => line.includes("session/prompt"))).toHaveLength(1);
  });

  test("restarts an agent that ignores it, before the next message", async () => {
    await using agent = await startAgent({ load: true }, { stopGraceS: 1 });
    const end = agent.run(step("deaf", true));
    await waitFor(() => agent.got().some((line) => line.includes("session/prompt")));
    await agent.halt();
    expect(await end).toMatchObject({ outcome: "stopped" });
    await waitFor(() => agent.process().stopTimeouts === 1);
    expect(await agent.run("again")).toMatchObject({ outcome: "completed" });
    expect(agent.text()).toBe("again");
    expect(agent.process()).toMatchObject({
      restarts: 1,
      lastEnd: expect.stringContaining("it ignored a stop") as string,
    });
  });
});
