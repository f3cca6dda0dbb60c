// A turn that runs while more conversations begin than the plugin remembers.
import { expect, test } from "vitest";
import { startAgent, step } from "../support/acp-harness.ts";
import { isBrief } from "../support/runs.ts";

test.skipIf(isBrief)(
  "shows the turn of a session among 4,200 others",
  { timeout: 120_000 },
  async () => {
    await using agent = await startAgent();
    const toolCall = { toolCallId: "c", title: "Run", kind: "execute" };
    await agent.say(step("ask", { toolCall }), "first", "first");
    const { id } = await agent.question();
    for (let at = 0; at < 4_200; at += 1) {
      await agent.say("hello", `session-${at}`);
      await agent.ends.next("the end of an answer");
    }
    const address = { channel: "sample", session: "first" };
    const { channels } = agent.kernel.services;
    await channels.answer(address, id, { option: "allow_once" }, { id: "owner" }, "dashboard");
    await agent.ends.next("the end of the first answer", (end) => end.id === "first");
    expect(agent.text()).toContain('"optionId":"once"');
  },
);
