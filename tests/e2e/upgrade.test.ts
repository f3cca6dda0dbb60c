// Starts the launcher with a home that an earlier release wrote. Each folder in fixtures/homes has
// the files of one release: its samples, with a channel, and the tokens as its commands wrote them.
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { withCommandLine } from "../support/command-context.ts";
import { startLauncher } from "./launcher.ts";

const fixtures = fileURLToPath(new URL("fixtures/homes", import.meta.url));
const releases = await readdir(fixtures);
/** Git ignores `.security.yml` in many places, so the fixture has another name. */
const names = { "config.json": "config.json", "launcher-config.json": "launcher-config.json" };
const files = Object.entries({ ...names, "security.yml": ".security.yml" });

/** Copies the home of a release, with a file of compiled code that is not read any more. */
async function restore(release: string, home: string): Promise<void> {
  for (const [from, to] of files) {
    await copyFile(join(fixtures, release, from), join(home, to));
    await chmod(join(home, to), 0o600);
  }
  await mkdir(join(home, "cache"), { mode: 0o700 });
  await writeFile(join(home, "cache", "program"), `code of ${release}`, { mode: 0o600 });
}

const contents = (home: string): Promise<string[]> =>
  Promise.all(files.map(([, name]) => readFile(join(home, name), "utf8")));

describe.each(releases)("home of %s", (release) => {
  test("keeps its settings, tokens and files", async () => {
    const home = await mkdtemp(join(tmpdir(), "doorward-upgrade-"));
    try {
      await restore(release, home);
      const before = await contents(home);
      const args = ["-no-browser", "-no-tray", "-port", "0"];
      await using launcher = await startLauncher({ args, env: { SERVICE_HOME: home } });
      expect(launcher.stderr()).toBe("");
      expect(launcher.stdout()).toMatch(/Pico +ws:.*\/pico$/m);
      const login = await fetch(new URL("/login", launcher.base), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token: "correct-horse-battery-staple-launcher" }),
      });
      expect(login.status).toBe(200);
      const authorization = "Bearer correct-horse-battery-staple-channel";
      const pico = await fetch(new URL("/pico", launcher.base), { headers: { authorization } });
      expect(pico.status).toBe(200);
      launcher.child.kill("SIGTERM");
      expect(await launcher.ended).toEqual({ code: 0, signal: null });
      expect(await contents(home)).toEqual(before);
      const log = await readFile(join(home, "logs", "launcher.log"), "utf8");
      expect(log.match(/"level":(?:40|50).*/g) ?? []).toEqual([]);
      expect(log).toContain(`"previous":"${release}"`);
      const state = await readFile(join(home, "state", "version.json"), "utf8");
      expect(JSON.parse(state)).toMatchObject({ version: expect.any(String) as string });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  test("passes the doctor, which names the release", () =>
    withCommandLine(async ({ home, run }) => {
      await restore(release, home);
      const { checks } = (await run("doctor -json")).json() as {
        checks: readonly { id: string; result: string; reason?: string }[];
      };
      const changes = checks.find(({ id }) => id === "home-version");
      expect(changes?.reason).toContain(`This home was last used by ${release}`);
      expect(checks.length).toBeGreaterThan(10);
      expect(checks.filter(({ result }) => result === "failed")).toEqual([]);
    }));
});
