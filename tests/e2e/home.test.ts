import { describe, expect, it } from "vitest";
import { homeOf } from "../../bin/environment.ts";
import { UsageError } from "../../bin/commands/command.ts";
import { spawnLauncher, startLauncher } from "./launcher.ts";

describe("the home", () => {
  it("is what SERVICE_HOME names, and a tilde that no shell has replaced is refused", () => {
    expect(homeOf({ SERVICE_HOME: " /srv/door " })).toBe("/srv/door");
    for (const home of ["~", "~/door"])
      expect(() => homeOf({ SERVICE_HOME: home })).toThrow(/write the whole path/);
    expect(() => homeOf({ SERVICE_HOME: "~/door" })).toThrow(UsageError);
    expect(homeOf({ SERVICE_HOME: "/srv/~door" })).toBe("/srv/~door");
  });

  it("of a user without a folder has to be named", async () => {
    await using launcher = await spawnLauncher({ env: { HOME: "", SERVICE_HOME: "" } });
    expect(await launcher.ended).toEqual({ code: 2, signal: null });
    expect(launcher.stderr()).toMatch(/^doorward: this user has no home folder.*SERVICE_HOME\n/);
  });

  // Nobody, root included, can make a folder in /proc.
  it.skipIf(process.platform !== "linux")(
    "that cannot be written stops the start with what mends it, and no stack",
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

  it("that a launcher serves already, on the port it asks for, is a dashboard to be opened", async () => {
    await using first = await startLauncher();
    const again = { args: ["-console", "-port", first.base.port] };
    await using second = await spawnLauncher({ ...again, env: { SERVICE_HOME: first.home } });
    await using other = await spawnLauncher(again);
    expect([(await second.ended).code, (await other.ended).code]).toEqual([1, 1]);
    expect(second.stderr()).toMatch(
      /^doorward: port \d+ is in use.*"doorward open" shows its dashboard\.$/m,
    );
    expect(other.stderr()).toMatch(/^doorward: port \d+ is in use.*start with -port N$/m);
  });
});
