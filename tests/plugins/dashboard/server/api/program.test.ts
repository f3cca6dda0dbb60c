import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../../kernel/index.ts";
import { channels } from "../../../../../plugins/channels/index.ts";
import { program } from "../../../../../plugins/program/index.ts";
import { signIn, startDashboard, TOKEN } from "../../../../support/dashboard-server.ts";

const withProgram = (): AnyPlugin[] => {
  const script = "console.error('up'); process.stdin.resume()";
  const command = [process.execPath, "-e", script] as const;
  return [channels(), program({ command, env: {}, restart: "never" })] as unknown as AnyPlugin[];
};
const path = "/api/program/restart";

describe("POST /api/program/restart", () => {
  test("restarts the program for the owner", async () => {
    await using server = await startDashboard({ before: withProgram() });
    const me = { authorization: `Bearer ${TOKEN}` };
    type Status = { program: { state: string; pid?: number; restarts: number; stderr: unknown[] } };
    const status = async (): Promise<Status["program"]> =>
      ((await (await server.get("/api/status", me)).json()) as Status).program;
    let before = await status();
    while (before.stderr.length === 0) before = await status();
    expect((await server.post(path, {}, me)).status).toBe(200);
    while ((await status()).state === "running");
    server.clock.increment(1_000);
    const after = await status();
    expect(after.restarts).toBe(1);
    expect(after.pid).not.toBe(before.pid);
  });

  test("requires the owner and a request of the dashboard", async () => {
    await using server = await startDashboard({ before: withProgram() });
    expect((await server.post(path, {})).status).toBe(401);
    const other = { ...(await signIn(server)), origin: "https://elsewhere.example" };
    expect((await server.post(path, {}, other)).status).toBe(403);
  });

  test("returns 404 without a program", async () => {
    await using server = await startDashboard();
    const me = { authorization: `Bearer ${TOKEN}` };
    expect((await server.post(path, {}, me)).status).toBe(404);
  });
});
