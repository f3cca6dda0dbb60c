import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { longestFirst } from "./support/longest-first.ts";

const excluded = ["tests/long/**", "**/node_modules/**", "dist/**"];
/** Files that inspect their whole process, or start and kill others, get a process of their own.
 *  The others share processes and loaded modules, which saves a third of their time. */
const alone = [
  "tests/security/{http,request-path,host-header}.test.ts",
  "tests/lib/files/atomic-write.test.ts",
  "tests/embedding/process.test.ts",
  "tests/plugins/http/stop.test.ts",
];

const longest = [
  "e2e/client",
  "start-and-stop",
  "browser/chat",
  "overview",
  "browser/ask",
  "browser/settings",
  "e2e/program",
  "forms",
];

/** Node reads these certificates at each start, which takes longer than the rest of it. */
delete process.env["NODE_EXTRA_CA_CERTS"];

export default defineConfig({
  test: {
    root: fileURLToPath(new URL("..", import.meta.url)),
    /** Twice the time limit of a browser's step, whose error says what it waited for. */
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    /** .ci/run names at its end each test that needed a second attempt: it has a defect all the same. */
    retry: process.env["CI"] ? 1 : 0,
    pool: "forks",
    maxWorkers: 4,
    /** .ci/run starts vitest six times. The cache saves an eighth of the processor time of all but the first. */
    experimental: { fsModuleCache: true },
    sequence: { sequencer: longestFirst(longest) },
    /** The path of a Unix socket has at most 107 bytes, of which the tests need up to 47. */
    env: tmpdir().length > 52 ? { TMPDIR: "/tmp" } : {},
    projects: [
      {
        extends: true,
        test: {
          name: "sharing",
          isolate: false,
          include: ["tests/**/*.test.ts"],
          exclude: [...excluded, ...alone],
        },
      },
      { extends: true, test: { name: "alone", include: alone, exclude: excluded } },
    ],
  },
});
