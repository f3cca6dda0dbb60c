// Describes the service of a home for the service manager of each operating system.
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Environment } from "../../config/load/index.ts";
import { serviceVariables } from "../../config/service/findings.ts";
import type { ServiceManager, ServiceTarget } from "./description.ts";
import { launchd } from "./launchd.ts";
import { scheduledTask } from "./scheduled-task.ts";
import { systemd } from "./systemd.ts";

type TargetOptions = Pick<ServiceTarget, "home" | "env" | "node" | "script"> & {
  /** @defaultValue those of the terminal that choose programs */
  readonly variables?: Environment | undefined;
};

/** @throws an error for a path that could add lines to a file of a service manager. */
export function serviceTarget(options: TargetOptions): ServiceTarget {
  const { home, env, node, script, variables = serviceVariables(env) } = options;
  for (const path of [home, node, script]) {
    if (/\p{Cc}/u.test(path)) {
      throw new Error(
        `The service cannot use a path with a line break or another control character: ` +
          JSON.stringify(path),
      );
    }
  }
  const userHome = env["HOME"]?.trim() || homedir();
  const isDefaultHome = resolve(home) === join(userHome, ".service");
  const hash = createHash("sha256").update(resolve(home)).digest("hex").slice(0, 8);
  const name = isDefaultHome ? "doorward" : `doorward-${hash}`;
  const own = { name, home: resolve(home), isDefaultHome, node, script, userHome, env };
  return { ...own, variables };
}

/** npm may clear this folder, and the service would then no longer start. */
export const isInNpxCache = (script: string): boolean => /[\\/]_npx[\\/]/.test(script);

const managers: Partial<Record<NodeJS.Platform, (target: ServiceTarget) => ServiceManager>> = {
  linux: systemd,
  darwin: launchd,
  win32: scheduledTask,
};

/** @returns Undefined for an operating system without a known service manager. */
export const serviceManager = (
  platform: NodeJS.Platform,
  target: ServiceTarget,
): ServiceManager | undefined => managers[platform]?.(target);
