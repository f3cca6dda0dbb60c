// A problem of the agent reaches the sender and the pages as one sentence with its repair.
import { describe, expect, test } from "vitest";
import { startAgent, step } from "../../support/acp-harness.ts";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { waitFor } from "../../support/program-harness.ts";
import { runFor } from "../../support/timers.ts";

type Agent = Awaited<ReturnType<typeof startAgent>>;

/** Sends a message that the agent cannot answer. @returns The sentence for its sender. */
async function refused(agent: Agent): Promise<string> {
  await agent.run("hello");
  return (await agent.failures.next("the failure")).error.message;
}

describe("an agent", () => {
  test("names its own command when it is not signed in", async () => {
    const authMethods = [{ id: "a", name: "Sign in", description: "Run `agent auth login`" }];
    const newError = { code: -32000, message: "Authentication required" };
    await using agent = await startAgent({ authMethods, newError });
    const sentence = await refused(agent);
    expect(sentence).toContain("is not signed in. In a terminal: Run `agent auth login`.");
    expect(agent.status().problem).toMatchObject({ code: "agent_needs_sign_in" });
    expect(agent.kernel.services.channels.applicationStatus()).toMatchObject({
      state: "needs_action",
      name: "Scripted agent 2.0",
      fix: "In a terminal: Run `agent auth login`. Then send the message again.",
    });
  });

  test("names both versions when it speaks another one", async () => {
    await using agent = await startAgent({ version: 2 });
    expect(await refused(agent)).toContain("speaks version 2");
    // Each start would end in the same way.
    await waitFor(() => agent.process().state === "ended");
    expect(await refused(agent)).toContain("restart it on the page Overview");
    expect(agent.status().problem).toMatchObject({ code: "agent_version" });
    expect(agent.process().restarts).toBe(0);
  });

  test("ends after a line over 16 MiB when never restarted", async () => {
    await using agent = await startAgent({}, { restart: "never" });
    expect(await agent.run(step("long", 17 * 1_024 * 1_024))).toMatchObject({
      outcome: "failed",
      code: "application_ended",
    });
    expect(agent.process().state).toBe("ended");
    expect(agent.status().problem).toMatchObject({
      code: "agent_ended",
      sentence: expect.stringContaining("is not running (exit code 0, it wrote a line over 16 MiB"),
    });
  });

  test("counts as missing when it is not installed", async () => {
    await using agent = await startAgent({}, { command: ["/nowhere/agent"] });
    await waitFor(() => agent.status().problem);
    expect(agent.status().problem).toMatchObject({
      code: "agent_not_found",
      sentence: "/nowhere/agent cannot be started: there is no such program.",
    });
  });

  test("counts as another program when it prints text and ends", async () => {
    await using agent = await startAgent(
      { text: "Usage: agent [options]", exits: 1, says: "unknown option" },
      { restart: "never" },
    );
    await waitFor(() => agent.process().state === "ended");
    expect(await refused(agent)).toContain("writes text in place of the Agent Client Protocol");
    expect(agent.status().problem).toMatchObject({ code: "agent_not_acp" });
  });

  test("may answer after the limit, and works from then on", async () => {
    const clock = createStoppedClock();
    await using agent = await startAgent({ startMs: 500 }, {}, [], {}, clock);
    const sentence = refused(agent);
    await waitFor(() => agent.got().some((line) => line.includes("initialize")));
    runFor(clock, 121_000);
    expect(await sentence).toContain("did not answer within 120 s");
    expect(agent.status().problem).toMatchObject({ code: "agent_silent" });
    await waitFor(() => agent.status().name);
    expect(await agent.run("hello")).toMatchObject({ outcome: "completed" });
    expect(agent.status().problem).toBeUndefined();
  });

  test("may print a line before it answers", async () => {
    await using agent = await startAgent({ text: "Welcome!" });
    expect(await agent.run("hello")).toMatchObject({ outcome: "completed" });
    expect(agent.status().problem).toBeUndefined();
  });

  test("may print a line before a suspension, which counts as no time", async () => {
    const clock = createStoppedClock();
    await using agent = await startAgent({ text: "Welcome!", startMs: 500 }, {}, [], {}, clock);
    const end = agent.run("hello");
    await waitFor(() => agent.status().problem?.code === "agent_not_acp");
    clock.increment(60_000);
    expect(await end).toMatchObject({ outcome: "completed" });
  });

  test.runIf(process.getuid?.() === 0)("says how to run it when it refuses root", async () => {
    const says = "cannot be used with root/sudo privileges for security reasons";
    await using agent = await startAgent({ exits: 1, says }, { restart: "never" });
    await waitFor(() => agent.status().problem);
    expect(agent.status().problem).toMatchObject({
      code: "agent_refuses_root",
      fix: "Run Doorward as an ordinary user.",
    });
  });

  test("repeats its last words when it ends at its start", async () => {
    await using agent = await startAgent(
      { exits: 3, says: "no configuration found" },
      { restart: "never" },
    );
    await waitFor(() => agent.status().problem);
    expect(agent.status().problem?.sentence).toMatch(
      /ended when it started \(exit code 3\)\. Its last line: "no configuration found"\./,
    );
  });

  test("names its modes when the one of the settings is missing", async () => {
    await using agent = await startAgent({ modes: ["build", "plan"] }, { mode: "ask" });
    expect(await agent.run("hello")).toMatchObject({ outcome: "completed" });
    expect(agent.status().problem).toMatchObject({
      code: "agent_mode",
      fix: 'Set "handler.mode" to one of: build, plan.',
    });
  });

  test("begins in the asking mode without the one of the settings", async () => {
    await using agent = await startAgent({ modes: ["auto", "default"] }, { mode: "manual" });
    await agent.run("hello");
    expect(agent.status()).toMatchObject({
      mode: { id: "default", isRisky: false },
      problem: { code: "agent_mode" },
    });
    expect(agent.got().join("\n")).toContain('"modeId":"default"');
  });

  test("passes on its words when a turn fails", async () => {
    const promptError = { code: -32603, message: "Internal error", data: { details: "no quota" } };
    await using agent = await startAgent({ promptError });
    expect(await refused(agent)).toBe("The agent reported an error: Internal error: no quota");
  });
});
