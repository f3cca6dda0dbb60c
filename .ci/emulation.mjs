// Runs a command in a user namespace in which programs of another architecture run in QEMU. The
// kernel keeps the registration in that namespace, so nothing changes for the rest of the machine.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";

/** Debian's name of the architecture -> that of QEMU. */
const names = { arm64: "aarch64" };
const registration = (architecture) => `/usr/lib/binfmt.d/qemu-${names[architecture]}.conf`;
/** Users and groups have the same numbers inside as outside. */
const allIds = "0 0 65536";

/** @returns What this machine lacks, or undefined. */
export function missingForEmulation(architecture) {
  return existsSync(registration(architecture))
    ? undefined
    : "qemu-user-static (Debian: qemu-user-static)";
}

/** @returns The exit code of the command, or the reason for which the kernel does not allow this. */
export async function runEmulated(architecture, command) {
  const script = `
    echo unshared
    read -r _
    mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
    cat "$0" >/proc/sys/fs/binfmt_misc/register
    echo registered
    exec "$@" <&-`;
  const words = ["--user", "--mount", "sh", "-euc", script, registration(architecture), ...command];
  const child = spawn("unshare", words, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const lines = child.stdout.setEncoding("utf8");
  const first = await Promise.race([once(lines, "data"), ended.then(() => [""])]);
  if (first[0] === "") return { reason: "needs user namespaces" };
  writeFileSync(`/proc/${child.pid}/uid_map`, allIds);
  writeFileSync(`/proc/${child.pid}/gid_map`, allIds);
  child.stdin.end("\n");
  const second = await Promise.race([once(lines, "data"), ended.then(() => [""])]);
  if (!second[0].startsWith("registered"))
    return { reason: "needs binfmt_misc in user namespaces (Linux 6.7)" };
  process.stdout.write(second[0].slice("registered\n".length));
  lines.pipe(process.stdout);
  const [code] = await ended;
  return { code: code ?? 1 };
}
