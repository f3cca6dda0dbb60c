import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { longestFirst } from "../support/longest-first.ts";
import { isBrief, rounds } from "../support/runs.ts";

const longest = [
  "public-check",
  "bench",
  "sqlite-store",
  "fuzz",
  "atomic-write",
  "browser/pages",
  "restarts",
  "browser/day",
  "chat-runs",
  "browser/conversations",
  "chat-details",
  "question-kills",
  "power-cuts",
  "redis/nodes",
  "screenshots",
  "slow-peers",
  "crowd",
  "slow-http",
  "takeover",
  "pico-cuts",
  "rolling-restart",
  "cross-site",
  "modes",
  "clock",
  "failover",
  "parts",
  "launcher-kills",
];

/** Removed because reading these certificates takes most of the time of each Node start. */
delete process.env["NODE_EXTRA_CA_CERTS"];

/**
 * Configures the tests that take long or load the machine: four files in parallel, because they
 * mostly wait, and the killed writers and the laws of the other suite with more rounds.
 */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: [
      "tests/long/**/*.test.ts",
      "tests/lib/files/atomic-write.test.ts",
      "tests/properties/*.test.ts",
    ],
    /** Short, so that .ci/run ends in time even if a test hangs. */
    testTimeout: isBrief ? 100_000 : 360_000,
    /**
     * Tests of times, descriptors or memory fail if the machine pauses for some seconds. The end of
     * .ci/run lists and counts the tests that needed a second attempt. Each is a defect.
     */
    retry: 1,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    pool: "forks",
    maxWorkers: 4,
    experimental: { fsModuleCache: true },
    sequence: { sequencer: longestFirst(longest) },
    env: { KILLS: String(rounds(200)), LAWS: "all" },
  },
});
