import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Environment } from "../config/load/index.ts";

/** The folder of all files: `$SERVICE_HOME`, else `~/.service`. */
export const homeOf = (env: Environment): string => resolve(env["SERVICE_HOME"]?.trim() || join(homedir(), ".service"));
