// The status of an application, of hosts and programs alike.
import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { application, channels, type ApplicationStatus } from "../../../plugins/channels/index.ts";
import { TOKEN, startDashboard } from "../../support/dashboard-server.ts";
import { checks } from "../../support/doctor-harness.ts";
import { withHome } from "../../support/token-store-harness.ts";
import { startProgram, waitFor } from "../../support/program-harness.ts";

const status: ApplicationStatus = {
  state: "needs_action",
  name: "Agent 1.2",
  message: "The agent is not signed in.",
  fix: "Run `agent login` in a terminal.",
  mode: "ask",
  modes: [
    { id: "ask", name: "Ask" },
    { id: "auto", name: "Auto", unguarded: true },
  ],
  commands: [{ name: "compact", description: "Shortens the conversation", hint: "[topic]" }],
  counts: [{ label: "Asked", value: 3 }],
};
const owner = { authorization: `Bearer ${TOKEN}` };

async function startHost(read: () => unknown) {
  const { log, lines } = createCapturedLog();
  const clock = createStoppedClock();
  const app = application(() => undefined, { status: read as () => ApplicationStatus });
  const kernel = createKernel([channels(), app], { log, clock });
  let changes = 0;
  kernel.on("channels:application-changed", () => void (changes += 1));
  await kernel.start();
  return { ...kernel.services, kernel, lines, clock, changes: () => changes };
}

describe("applicationStatus", () => {
  test("returns what the application says, and nothing unknown", async () => {
    const host = await startHost(() => ({ ...status, secret: "s3cret" }));
    expect(host.channels.applicationStatus()).toEqual(status);
    await host.kernel.stop();
  });

  test.each([
    ["a state that does not exist", { state: "fine" }],
    ["no object", "ready"],
    ["a command with a space", { state: "ready", commands: [{ name: "a b" }] }],
    ["too many counts", { state: "ready", counts: Array(17).fill({ label: "n", value: 1 }) }],
  ])("leaves out %s, and logs it once", async (_, given) => {
    const host = await startHost(() => given);
    for (let at = 0; at < 3; at++) expect(host.channels.applicationStatus()).toBeUndefined();
    expect(host.lines.filter(({ level }) => level === "error")).toHaveLength(1);
    await host.kernel.stop();
  });

  test("survives a status that throws", async () => {
    const host = await startHost(() => {
      throw new Error("no status today");
    });
    expect(host.channels.applicationStatus()).toBeUndefined();
    expect(JSON.stringify(host.lines)).toContain("no status today");
    await host.kernel.stop();
  });

  test("announces many changes as one event", async () => {
    const host = await startHost(() => status);
    for (let at = 0; at < 5; at++) host.channels.statusChanged();
    expect(host.changes()).toBe(0);
    host.clock.increment(250);
    expect(host.changes()).toBe(1);
    host.channels.statusChanged();
    host.clock.increment(250);
    expect(host.changes()).toBe(2);
    await host.kernel.stop();
  });

  test("has the last status line of a program, until the program ends", async () => {
    const line = JSON.stringify({ type: "status", payload: status });
    await using server = await startProgram(
      `each((m) => { if (m.payload.content === "end") process.exit(1);
         say(m.payload.content === "wrong" ? { type: "status", payload: { state: "odd" } } : ${line});
         answer(m, "ok"); });`,
      { restart: "never" },
    );
    const { channels: service } = server.kernel.services;
    expect(service.applicationStatus()).toBeUndefined();
    await server.say("status");
    expect(service.applicationStatus()).toEqual(status);
    await server.say("wrong");
    expect(service.applicationStatus()).toEqual(status);
    await waitFor(() => server.status().invalidLines === 1);
    void server.say("end").catch(() => undefined);
    await waitFor(() => service.applicationStatus() === undefined);
  });
});

describe("the owner", () => {
  test("reads the status, and a warning with its fix", async () => {
    const app = application(() => undefined, { status: () => status });
    const server = await startDashboard({ before: [channels(), app] });
    const view = (await (await server.get("/api/status", owner)).json()) as Record<string, unknown>;
    expect(view["application"]).toEqual(status);
    expect(view["warnings"]).toContainEqual({
      id: "application",
      text: status.message,
      fix: status.fix,
    });
    const own = await server.get("/api/application", owner);
    expect(await own.json()).toEqual({ application: status });
    const page = await server.get("/", { ...owner, accept: "text/html" });
    expect(page.status).toBeLessThan(400);
    await server.kernel.stop();
  });

  test.each([
    ["ready", "ok"],
    ["needs_action", "warning"],
    ["failed", "failed"],
  ] as const)("reads the state %s in the doctor as %s", async (state, result) => {
    await withHome(async (home) => {
      const found = await checks(home, { running: { application: { ...status, state } } });
      expect(found["application-ready"]).toMatchObject({
        result,
        reason: status.message,
        ...(state !== "ready" && { fix: status.fix }),
      });
    });
  });
});
