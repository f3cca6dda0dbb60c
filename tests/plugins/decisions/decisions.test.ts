import { cp } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createKernel, type Plugin } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { application, channels, type Message } from "../../../plugins/channels/index.ts";
import { conversations } from "../../../plugins/conversations/index.ts";
import { decisions } from "../../../plugins/decisions/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import { records } from "../../../plugins/records/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";
import { tempHome } from "../../support/dashboard-server.ts";
import { fetchJson, token, waitFor } from "../../support/pico-server-harness.ts";

const day = 86_400_000;
const options = [
  { id: "once", label: "Allow once", effect: "allow" as const },
  { id: "no", label: "Never", effect: "deny" as const },
];

/** Asks about a tool call; then returns, or fails if the message says so. */
async function agent({ content, reply, ask }: Message): Promise<void> {
  const call = { id: "call-1", name: "rm", arguments: '{"path":"notes"}' };
  await reply({ content: "", kind: "tool_calls", toolCalls: [call] });
  const question = { kind: "approval", content: "Delete it?", title: "Delete notes" } as const;
  await ask({ ...question, options, toolCallId: "call-1" });
  if (content.includes("fail")) throw Object.assign(new Error("no"), { code: "internal" });
  await reply({ content: "done" });
}

interface Clock {
  ahead: number;
}

async function start(home: string, clock: Clock = { ahead: 0 }, days = 365) {
  const { log, lines } = createCapturedLog();
  const kernel = createKernel(
    [
      tokenStore(memory({ pico: token })),
      conversations({ home }),
      records({ home }),
      channels(),
      http({ port: 0 }),
      picoServer(),
      decisions(),
      application(agent),
    ],
    {
      log,
      clock: {
        now: () => Date.now() + clock.ahead,
        monotonic: () => performance.now() + clock.ahead,
        setTimeout: (run, ms) => setTimeout(run, ms),
        clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
      },
      config: {
        "channels.pico": { enabled: true, drain_timeout: 0, message_rate: 0 },
        store: { decisions_days: days },
      },
    },
  );
  await kernel.start();
  const { services } = kernel;
  const port = Number(services.http.addresses()[0]!.port);
  return {
    kernel,
    lines,
    decisions: services.decisions,
    conversations: services.conversations,
    /** Sends a message, whose question stays open. */
    async ask(session: string): Promise<void> {
      const body = { session_id: session, content: "clean" };
      void fetchJson(port, "/pico/messages", { method: "POST", body });
      await waitFor(() => services.channels.questions({ session }).length > 0);
      await waitFor(
        async () => (await services.conversations.find({ channel: "pico", session })) !== undefined,
      );
    },
    /** Sends a message, and answers the question of the agent. */
    async decide(session: string, content: string, answer: object): Promise<void> {
      const body = { session_id: session, content };
      void fetchJson(port, "/pico/messages?wait=10", { method: "POST", body });
      const [open] = await waitFor(() => {
        const found = services.channels.questions({ session });
        return found.length > 0 && found;
      });
      const given = { session_id: session, message_id: open!.id, ...answer };
      await fetchJson(port, "/pico/answer", { method: "POST", body: given });
      await waitFor(() => services.channels.busySessions("pico").length === 0);
    },
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}

describe("decisions", () => {
  test("come from the conversations, with their effects", async () => {
    await using temp = await tempHome();
    await using service = await start(temp.home);
    await service.decide("kitchen", "clean", { option: "once", text: "go" });
    await service.decide("cellar", "fail", { option: "no" });
    const { decisions: list, isComplete } = await service.decisions.list({ since: 0 });
    expect(isComplete).toBe(true);
    expect(list).toMatchObject([
      {
        session: "cellar",
        outcome: "answered",
        effect: "deny",
        chosen: ["Never"],
        followed: { outcome: "failed", code: "internal" },
      },
      {
        channel: "pico",
        session: "kitchen",
        kind: "approval",
        effect: "allow",
        chosen: ["Allow once"],
        text: "go",
        question: "Delete it?",
        subject: "Delete notes",
        tool: "rm",
        arguments: '{"path":"notes"}',
        via: "pico",
        by: "token:pico",
        followed: { outcome: "completed" },
      },
    ]);
    expect(await service.decisions.list({ since: Date.now() + day })).toEqual({
      decisions: [],
      isComplete: true,
    });
    const first = await service.decisions.list({ since: 0, limit: 1 });
    expect([first.decisions.length, first.isComplete]).toEqual([1, false]);
  });

  test("find a question that was lost long after the last use", async () => {
    await using temp = await tempHome();
    await using later = await tempHome();
    {
      await using service = await start(temp.home);
      await service.decide("cellar", "clean", { option: "once" });
      await service.ask("kitchen");
      // As a kill leaves it.
      await cp(temp.home, later.home, {
        recursive: true,
        filter: (path) => !path.endsWith(".lock"),
      });
    }
    await using again = await start(later.home, { ahead: 3 * day });
    const since = Date.now() + 2 * day;
    const found = async () => (await again.decisions.list({ since })).decisions;
    await waitFor(async () => (await found()).length > 0 || undefined);
    expect(await found()).toMatchObject([{ session: "kitchen", outcome: "lost" }]);
    expect((await again.decisions.list({ since: Date.now() + 4 * day })).decisions).toEqual([]);
    const kitchen = (await again.conversations.list()).items.find(
      ({ session }) => session === "kitchen",
    );
    expect(kitchen!.usedAt).toBeLessThan(since);
    await again.conversations.forget(kitchen!.id);
    expect(await found()).toMatchObject([{ outcome: "lost", isDeleted: true }]);
  });

  test("leave a line without words after the deletion, also after a restart", async () => {
    await using temp = await tempHome();
    {
      await using service = await start(temp.home);
      await service.decide("kitchen", "clean", { option: "once", text: "go" });
      const [summary] = (await service.conversations.list()).items;
      const [before] = (await service.decisions.list({ since: 0 })).decisions;
      await service.conversations.forget(summary!.id);
      const [line, ...more] = (await service.decisions.list({ since: 0 })).decisions;
      expect(more).toEqual([]);
      expect(line!.id).not.toBe(before!.id);
      expect({ ...line, id: "" }).toEqual({
        id: "",
        at: before!.at,
        kind: "approval",
        effect: "allow",
        outcome: "answered",
        via: "pico",
        by: "token:pico",
        isDeleted: true,
      });
    }
    await using again = await start(temp.home);
    expect((await again.decisions.list({ since: 0 })).decisions).toMatchObject([
      { effect: "allow", isDeleted: true },
    ]);
  });

  test("leave no line with decisions_days 0", async () => {
    await using temp = await tempHome();
    await using service = await start(temp.home, { ahead: 0 }, 0);
    await service.decide("kitchen", "clean", { option: "once" });
    const [summary] = (await service.conversations.list()).items;
    await service.conversations.forget(summary!.id);
    expect((await service.decisions.list({ since: 0 })).decisions).toEqual([]);
  });

  test("stay for the days of the setting, on a steady clock", async () => {
    await using temp = await tempHome();
    const { LinesOfDeleted } = await import("../../../plugins/decisions/kept-lines.ts");
    await using service = await start(temp.home);
    await service.decide("kitchen", "clean", { option: "once" });
    let opened: any;
    const opener: Plugin<{ needs: { records: any } }> = {
      name: "opener",
      api: 1,
      needs: { records: true },
      start: ({ needs }) => void (opened = needs.records("lines")),
    };
    const other = createKernel([records(), opener], { log: createCapturedLog().log });
    await other.start();
    let [wall, passed] = [1_700_000_000_000, 0];
    let seed = 0;
    const lines = new LinesOfDeleted({
      records: opened,
      conversations: service.conversations,
      clock: {
        now: () => wall,
        monotonic: () => passed,
        setTimeout: () => 0,
        clearTimeout: () => undefined,
      },
      log: createCapturedLog().log,
      random: (bytes) => Buffer.alloc(bytes, (seed += 1)),
      keepDays: () => 30,
    });
    await lines.note([{ channel: "pico", session: "kitchen" }]);
    expect(await lines.list()).toEqual([]);
    const [summary] = (await service.conversations.list()).items;
    await service.conversations.forget(summary!.id);
    expect(await lines.list()).toHaveLength(1);
    wall += 400 * day;
    await lines.purge();
    expect(await lines.list()).toHaveLength(1);
    for (let step = 0; step < 31; step += 1) {
      passed += day;
      await lines.purge();
    }
    expect(await lines.list()).toEqual([]);
    await other.stop();
  });
});
