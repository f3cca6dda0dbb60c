// Tests a launcher that was suspended while its program answered.
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectTestClient } from "../../testkit/index.ts";
import { startLauncher } from "./launcher.ts";

const token = "correct-horse-battery-staple-channel";

/** Answers immediately, and creates a file when more than the timeout has passed. */
const script = `
const { writeFileSync } = require("node:fs");
const say = (type, payload) => console.log(JSON.stringify({ type, payload }));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id } = JSON.parse(line);
  say("typing.start", { request_id: id });
  setTimeout(() => say("message.create", { request_id: id, content: "in time" }), 300);
  setTimeout(() => writeFileSync("late", ""), 3_500);
});`;

test.skipIf(process.platform === "win32")(
  "passes an answer that arrived during a suspension longer than the timeout",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-suspended-"));
    const home = join(folder, "home");
    await mkdir(home, { mode: 0o700 });
    await writeFile(join(folder, "agent.cjs"), script);
    const handler = { command: [process.execPath, "agent.cjs"], cwd: folder, timeout_s: 1 };
    await writeFile(join(home, "config.json"), JSON.stringify({ handler }));
    await using launcher = await startLauncher({
      env: {
        SERVICE_HOME: home,
        SERVICE_CHANNELS_PICO_ENABLED: "true",
        SERVICE_CHANNELS_PICO_TOKEN: token,
      },
    });
    const client = await connectTestClient(new URL("/pico", launcher.base), { token });
    client.say("hello");
    await client.next("typing.start");
    launcher.child.kill("SIGSTOP");
    await expect
      .poll(() =>
        stat(join(folder, "late")).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    launcher.child.kill("SIGCONT");
    expect((await client.next("message.create")).payload?.["content"]).toBe("in time");
    await rm(folder, { recursive: true });
  },
);
