// Runs the tests of Valkey with the packages of Debian 13, which Debian 12 does not have. They are
// unpacked into a folder and run with their own libraries. Skipped without root on Debian.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { unpackDebian } from "./debian-packages.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const work = mkdtempSync(path.join(tmpdir(), "doorward-valkey-"));
const packages = [
  "valkey-server",
  "valkey-tools",
  "libc6",
  "libgcc-s1",
  "libstdc++6",
  "libatomic1",
];
packages.push(
  "libjemalloc2",
  "liblzf1",
  "libssl3t64",
  "libsystemd0",
  "libzstd1",
  "zlib1g",
  "libcap2",
);

try {
  if (!existsSync("/usr/bin/dpkg-deb") || process.getuid() !== 0)
    console.log("skipped: needs root on Debian");
  else process.exitCode = run();
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** @returns The exit code of the tests. */
function run() {
  const files = path.join(work, "files");
  const architecture = execFileSync("dpkg", ["--print-architecture"], { encoding: "utf8" }).trim();
  unpackDebian(packages, files, { work, architecture, release: "trixie" });
  const find = (name) =>
    execFileSync("find", [files, "-name", name], { encoding: "utf8" }).split("\n", 1)[0];
  const libraries = path.dirname(find("libc.so.6"));
  const loader = find("ld-linux-*.so.*");
  const bin = path.join(work, "bin");
  mkdirSync(bin);
  // The program is a link to another one, and looks at its name.
  const program = path.join(files, "usr", "bin", "valkey-server");
  const words = `--library-path ${libraries} --argv0 valkey-server ${program}`;
  writeFileSync(path.join(bin, "valkey-server"), `#!/bin/sh\nexec ${loader} ${words} "$@"\n`, {
    mode: 0o755,
  });
  console.log(execFileSync(path.join(bin, "valkey-server"), ["--version"], { encoding: "utf8" }));
  const vitest = path.join(root, "node_modules", "vitest", "vitest.mjs");
  const test = "tests/plugins/redis/valkey.test.ts";
  const { status } = spawnSync(
    process.execPath,
    [vitest, "run", "--config", "tests/vitest.config.ts", test],
    { cwd: root, stdio: "inherit", env: { ...process.env, PATH: `${bin}:${process.env["PATH"]}` } },
  );
  return status ?? 1;
}
