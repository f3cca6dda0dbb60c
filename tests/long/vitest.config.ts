import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { longestFirst } from "../support/longest-first.ts";

const longest = [
  "restarts",
  "fuzz",
  "atomic-write",
  "bench",
  "cross-site",
  "crowd",
  "slow-peers",
  "kills",
  "slow-http",
  "slow-headers",
];

/** Node reads these at each start, which takes longer than the rest of it. */
delete process.env["NODE_EXTRA_CA_CERTS"];

/** What takes long or loads the machine: three files side by side, since they wait more than they work, and the killed
 *  writers of the other suite far oftener. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["tests/long/**/*.test.ts", "tests/lib/files/atomic-write.test.ts"],
    testTimeout: 360_000,
    /** What counts seconds, descriptors or memory of a whole machine fails when that machine stands still for some. Who
     *  needed the second try is named at the end of .ci/run: more than once in a while is a defect. */
    retry: 1,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    pool: "forks",
    maxWorkers: 3,
    sequence: { sequencer: longestFirst(longest) },
    env: { KILLS: "200" },
  },
});
