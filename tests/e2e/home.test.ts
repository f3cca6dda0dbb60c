// Tests the choice of the home directory.
import { describe, expect, it } from "vitest";
import { homeOf } from "../../bin/environment.ts";
import { UsageError } from "../../bin/commands/command.ts";
import { spawnLauncher, startLauncher } from "./launcher.ts";

describe("Home directory", () => {
  it("uses SERVICE_HOME and rejects an unexpanded tilde", () => {
    expect(homeOf({ SERVICE_HOME: " /srv/door " })).toBe("/srv/door");
    for (const home of ["~", "~/door"])
      expect(() => homeOf({ SERVICE_HOME: home })).toThrow(/write an absolute path/);
    expect(() => homeOf({ SERVICE_HOME: "~/door" })).toThrow(UsageError);
    expect(homeOf({ SERVICE_HOME: "/srv/~door" })).toBe("/srv/~door");
  });

  it("requires SERVICE_HOME for a user without home directory", async () => {
    await using launcher = await spawnLauncher({ env: { HOME: "", SERVICE_HOME: "" } });
    expect(await launcher.ended).toEqual({ code: 2, signal: null });
    expect(launcher.stderr()).toMatch(/^doorward: This user has no home folder.*SERVICE_HOME/);
  });

  // No user, not even root, can create a directory in /proc.
  it.skipIf(process.platform !== "linux")(
    "exits with a fix and no stack if not writable",
    async () => {
      await using launcher = await spawnLauncher({ env: { SERVICE_HOME: "/proc/doorward" } });
      expect(await launcher.ended).toEqual({ code: 1, signal: null });
      const said = launcher.stderr();
      expect(said).toMatch(
        /^doorward: \/proc\/doorward cannot be written: .*SERVICE_HOME.*SERVICE_LAUNCHER_TOKEN/m,
      );
      expect(said).not.toMatch(/\bat \S+:\d+:\d+/);
    },
  );

  it("prints the dashboard URL if a launcher already runs", async () => {
    await using first = await startLauncher();
    const again = { args: ["-console", "-port", first.base.port] };
    await using second = await spawnLauncher({ ...again, env: { SERVICE_HOME: first.home } });
    await using other = await spawnLauncher(again);
    expect([(await second.ended).code, (await other.ended).code]).toEqual([1, 1]);
    expect(second.stderr()).toMatch(
      /^doorward: .* already running. To open its dashboard: node \S+doorward.js open\n\(.* is in use/m,
    );
    expect(other.stderr()).toMatch(/^doorward: port \d+ is in use.*start with -port N$/m);
  });
});
