// Path of the control socket of a home.
import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import type { Environment } from "./load/index.ts";

/** Some systems silently truncate the path of a Unix socket after 103 bytes. */
const maxPathLength = 100;

interface ControlSocketPaths {
  /** Control socket of the running launcher; undefined if no path is short enough. */
  readonly socket: string | undefined;
  /** File with the address and process id of the launcher, for people. */
  readonly note: string;
}

/** @returns The paths through which commands reach the launcher of a home. */
export function controlSocketPaths(
  home: string,
  env: Environment,
  platform: NodeJS.Platform = process.platform,
): ControlSocketPaths {
  const note = join(home, "run", "launcher.json");
  const hash = createHash("sha256").update(resolve(home)).digest("hex").slice(0, 16);
  if (platform === "win32") return { socket: `\\\\.\\pipe\\doorward-${hash}`, note };
  const socket = join(home, "run", "launcher.sock");
  const runtime = env["XDG_RUNTIME_DIR"]?.trim();
  const candidates = [socket, ...(runtime ? [join(runtime, `doorward-${hash}.sock`)] : [])];
  return { socket: candidates.find((path) => Buffer.byteLength(path) <= maxPathLength), note };
}
