// Tests that sign-ins survive a restart only with the setting.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { finishSetup, startLauncher, type RunningLauncher } from "../../e2e/launcher.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "doorward-kept-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const isIn = async ({ base }: RunningLauncher, cookie: string): Promise<boolean> =>
  (await fetch(new URL("/api/status", base), { headers: { cookie } })).status === 200;

describe("doorward with keep_sign_ins", () => {
  it.each([
    ["true", true],
    ["false", false],
  ])("%s: a sign-in survives a kill and the next start is %s", async (setting, survives) => {
    const env = { SERVICE_LAUNCHER_KEEP_SIGN_INS: setting };
    let cookie: string;
    {
      await using launcher = await startLauncher({ home, env });
      cookie = await finishSetup(launcher);
      // Signs out no browser. Its response waits for pending writes.
      await fetch(new URL("/logout", launcher.base), { method: "POST" });
      launcher.child.kill("SIGKILL");
      await launcher.ended;
    }
    await using launcher = await startLauncher({ home, env });
    expect(await isIn(launcher, cookie)).toBe(survives);
  });

  it("does not restore a sign-in that signed out before a kill", async () => {
    const env = { SERVICE_LAUNCHER_KEEP_SIGN_INS: "true" };
    let cookie: string;
    {
      await using launcher = await startLauncher({ home, env });
      cookie = await finishSetup(launcher);
      await fetch(new URL("/logout", launcher.base), { method: "POST", headers: { cookie } });
      launcher.child.kill("SIGKILL");
      await launcher.ended;
    }
    await using launcher = await startLauncher({ home, env });
    expect(await isIn(launcher, cookie)).toBe(false);
  });
});
