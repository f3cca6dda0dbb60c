import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { isBrief } from "../support/runs.ts";
import { optional } from "../support/tools.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bench = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, ["bench/run.mjs", "--tiny", ...args], { cwd: root }))
    .stdout;

/* Checks that the benchmarks run. People judge the results on a quiet machine. */

/** The first start, rates, and latencies. */
const some = ["start", "echo", "latency"];
const others = ["memory", "handshakes", "sessions", "fanout", "streams", "idle", "curves", "nodes"];

test.concurrent("runs every workload with the built-in peers", async () => {
  const workloads = isBrief ? some : [...some, ...others];
  const report = await bench("--peers", "ws,raw writes,bare sse", ...workloads);
  for (const name of workloads) expect(report).toContain(`\n## ${name}\n`);
  expect(report).toMatch(
    /^\| echo, 16 in flight, processor time of bare ws +\| at most 0\.65x +\|/m,
  );
  expect(report).toContain("server CPU, µs");
  expect(report).toContain("p99.9, ms");
});

const peers = optional(
  [`${root}/bench/node_modules`].find((path) => existsSync(path)),
  "the peers of the benchmarks (npm ci --prefix bench)",
);

test.skipIf(!peers || isBrief).concurrent("runs the peers of bench/package.json", async () => {
  const report = await bench("--peers", "ws,socket.io,hocuspocus,bun", "echo", "streams");
  expect(report.match(/^\| (socket\.io|hocuspocus|bun) +\| \d/gm)).toHaveLength(8);
});

test.skipIf(isBrief)("compares with another commit", async () => {
  const commit = execFileSync("git", ["rev-parse", "--short=7", "HEAD"], { cwd: root })
    .toString()
    .trim();
  const report = await bench("--against", "HEAD", "echo");
  expect(report).toMatch(new RegExp(`^\\| doorward +\\| doorward, ${commit} +\\| \\d`, "m"));
});

test("rejects unknown workloads and peers and lists the known ones", async () => {
  await expect(bench("speed")).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("workloads         start, memory"),
  });
  await expect(bench("--peers", "nginx")).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("of bare sse, ws, ws and sqlite, raw writes"),
  });
});
