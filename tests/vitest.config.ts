import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const never = ["tests/long/**", "**/node_modules/**", "dist/**"];
/** Their files share the processes they run in and the modules these load, which is a third of their time. */
const folders = [
  "config",
  "embedding",
  "kernel",
  "lib",
  "plugins",
  "properties",
  "security",
  "testkit",
];
const sharing = [`tests/{${folders.join(",")}}/**/*.test.ts`];
const others = [`tests/!(${folders.join("|")})/**/*.test.ts`, "tests/*.test.ts"];
/** Not those that look at their process as a whole, or start and kill others. */
const alone = [
  "tests/security/http.test.ts",
  "tests/lib/files/atomic-write.test.ts",
  "tests/embedding/process.test.ts",
  "tests/plugins/program/*.test.ts",
  "tests/plugins/http/server.test.ts",
  "tests/plugins/tray/*.test.ts",
];

/** Node reads these at each start, which takes longer than the rest of it: half a minute of a whole run. */
delete process.env["NODE_EXTRA_CA_CERTS"];

export default defineConfig({
  test: {
    root: fileURLToPath(new URL("..", import.meta.url)),
    /** Twice as long as a browser's step may take, which says what it waited for. */
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    /** .ci/run alone tries a failed test once more, and names it at its end: it is a defect of the product or of the
     *  test all the same. */
    retry: process.env["CI"] ? 1 : 0,
    pool: "forks",
    maxWorkers: 3,
    /** A socket's path holds 100 bytes, and what the tests make there is up to 47 of them. */
    env: tmpdir().length > 52 ? { TMPDIR: "/tmp" } : {},
    projects: [
      {
        extends: true,
        test: { name: "sharing", isolate: false, include: sharing, exclude: [...never, ...alone] },
      },
      { extends: true, test: { name: "alone", include: [...alone, ...others], exclude: never } },
    ],
  },
});
