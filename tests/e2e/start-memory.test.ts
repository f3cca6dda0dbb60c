// Reads the size of V8's spaces from a launcher that has just started.
import { expect, test } from "vitest";
import { startLauncher } from "./launcher.ts";

const report = `
import { getHeapSpaceStatistics } from "node:v8";
process.on("exit", () => {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  process.stderr.write("new space: " + space.space_size + "\\n");
});`;

test("leaves a small space for new objects", async () => {
  const nodeArgs = ["--import", `data:text/javascript,${encodeURIComponent(report)}`];
  await using launcher = await startLauncher({
    args: ["-no-browser", "-no-tray", "-port", "0"],
    nodeArgs,
  });
  launcher.child.kill("SIGTERM");
  await launcher.ended;
  const [, bytes] = /new space: (\d+)/.exec(launcher.stderr()) ?? [];
  expect(Number(bytes)).toBeGreaterThan(0);
  expect(Number(bytes)).toBeLessThan(8 * 1024 * 1024);
});
