// Removes the files of the program under a running launcher, as an update of the package does.
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { startLauncher, type RunningLauncher } from "../../e2e/launcher.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const token = "correct-horse-battery-staple-channel";

/** Starts a launcher from a copy of the build. @returns It, and the folder of the copy. */
async function startCopy(): Promise<{ launcher: RunningLauncher; dist: string }> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-copy-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const dist = join(folder, "dist");
  await cp(join(root, "dist"), dist, { recursive: true });
  await cp(join(root, "package.json"), join(folder, "package.json"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const home = join(folder, "home");
  await mkdir(home, { mode: 0o700 });
  const config = { channels: { pico: { enabled: true } } };
  await writeFile(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const options = {
    program: join(dist, "bin", "doorward.js"),
    args: ["-no-browser", "-no-tray", "-port", "0"],
    env: { SERVICE_HOME: home, SERVICE_CHANNELS_PICO_TOKEN: token },
  };
  // After a clean stop, the next start leaves the worker of the conversations to the first message.
  const earlier = await startLauncher(options);
  earlier.child.kill("SIGTERM");
  await earlier.ended;
  const launcher = await startLauncher(options);
  onTestFinished(() => launcher[Symbol.asyncDispose]());
  return { launcher, dist };
}

describe("a launcher whose files were replaced", () => {
  test("asks for a restart and continues to serve clients", async () => {
    const { launcher, dist } = await startCopy();
    const at = (path: string) => new URL(path, launcher.base);
    await rm(dist, { recursive: true });
    const sentence = "Doorward was updated while it was running; restart it.";
    const page = await fetch(at("/"), { headers: { accept: "text/html" } });
    expect([page.status, await page.text()]).toEqual([503, `${sentence}\n`]);
    const api = await fetch(at("/api/status"));
    expect([api.status, await api.json()]).toEqual([
      503,
      { error: "unavailable", message: sentence },
    ]);
    expect((await fetch(at("/readyz"))).status).toBe(200);
    const log = await readFile(join(launcher.home, "logs", "launcher.log"), "utf8");
    expect(log.split("\n").filter((line) => line.includes(sentence))).toHaveLength(1);
    const answer = await fetch(at("/pico/messages"), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ session_id: "s", content: "hello" }),
    });
    expect(answer.status, await answer.text()).toBeLessThan(300);
  });
});
