import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sessionCookie, startLauncher, type RunningLauncher } from "../walks/launcher.ts";

const token = "0123456789abcdef".repeat(4);

function hasHydra(): boolean {
  try {
    execFileSync("hydra", ["-h"], { stdio: "ignore" });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ENOENT"; // its help ends with 255
  }
  return true;
}

/** What it found, after at most ten seconds. */
function guess(cwd: string, { base }: RunningLauncher, service: string, how: string): Promise<string> {
  const what = ["-l", "x", "-P", "words", "-t", "16", "-I", "-f", "-s", base.port, base.hostname, service, how];
  return new Promise((done) => {
    execFile("hydra", what, { cwd, timeout: 10_000 }, (_, stdout, stderr) => done(stdout + stderr));
  });
}

const isThere = hasHydra();
test.skipIf(!isThere && !process.env["CI"])("hydra gets in nowhere, and nobody who belongs here is kept out", async () => {
  if (!isThere) throw new Error("hydra is not installed: apt-get install hydra");
  const folder = await mkdtemp(join(tmpdir(), "doorward-hydra-"));
  try {
    const guesses = Array.from({ length: 5_000 }, (_, n) => `guess-number-${n}`);
    await writeFile(join(folder, "words"), `${guesses.join("\n")}\n${token}x\n${token.slice(1)}\n`);
    await writeFile(join(folder, "config.json"), '{"channels":{"pico":{"enabled":true}}}', { mode: 0o600 });
    await using launcher = await startLauncher({
      args: ["-console", "-no-browser", "-port", "0"],
      env: { SERVICE_HOME: folder, SERVICE_LAUNCHER_TOKEN: token, SERVICE_CHANNELS_PICO_TOKEN: token },
    });
    const login = () => fetch(new URL("/login", launcher.base), { method: "POST", body: new URLSearchParams({ token }), redirect: "manual" });
    const cookie = sessionCookie(await login());
    const [form, query] = await Promise.all([
      guess(folder, launcher, "http-post-form", "/login:token=^PASS^:F=Launcher token"),
      // As a browser: it is sent on to the sign-in page, where others are answered 401, at which hydra gives up.
      guess(folder, launcher, "http-get-form", "/:token=^PASS^:F=Launcher token:H=Accept\\: text/html"),
    ]);
    for (const output of [form, query]) {
      expect(output).toContain("Hydra");
      expect(output).not.toMatch(/host: .*password: |valid password/);
    }
    const wrong = await fetch(new URL("/login", launcher.base), { method: "POST", body: new URLSearchParams({ token: "guess" }) });
    expect(wrong.status).toBe(429);

    expect((await fetch(new URL("/api/status", launcher.base), { headers: { cookie } })).status).toBe(200);
    expect((await login()).status).toBe(303);
    expect((await fetch(launcher.link, { redirect: "manual" })).headers.getSetCookie()).toHaveLength(1);
    const channel = await fetch(new URL("/pico", launcher.base), { headers: { authorization: `Bearer ${token}` } });
    expect(channel.status).toBe(200);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
