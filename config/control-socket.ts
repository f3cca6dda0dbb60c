import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import type { Environment } from "./load/index.ts";

/** Unix sockets have a path of at most 103 bytes on some systems; longer ones are cut without a
 *  word. */
const maxPathLength = 100;

export interface ControlSocketPaths {
  /** Where commands reach the running launcher; `undefined`: no path is short enough. */
  readonly socket: string | undefined;
  /** Says address and process id, for people. */
  readonly note: string;
}

/** Where a launcher of this home listens for the command line. */
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
