// The command that started this program, for hints that users copy.
import { basename, relative } from "node:path";
import type { Environment } from "../config/load/index.ts";

interface Invocation {
  /** The script of this process, as the user named it. */
  readonly script: string;
  /** The folder of the user. Absent: the command works in every folder. */
  readonly cwd?: string;
  readonly env: Environment;
}

/**
 * @returns `doorward` for an installed program, `npx doorward`, or, for a checkout,
 *   `node dist/bin/doorward.js`.
 */
export function commandName({ script, cwd, env }: Invocation): string {
  if (env["npm_command"] === "exec") return "npx doorward";
  const isInstalled = basename(script) !== "doorward.js" || /[\\/]node_modules[\\/]/.test(script);
  if (isInstalled) return "doorward";
  const inside = cwd === undefined ? ".." : relative(cwd, script);
  const path = inside.startsWith("..") ? script : inside;
  return `node ${/\s/.test(path) ? `"${path}"` : path}`;
}

const names =
  "run|help|open|token|doctor|service|conversations|questions|answer|send|client|status|stop|" +
  "sessions|unblock|completion";
const inText = `(?<!npx |[\\w./@-])doorward(?= (?:${names})\\b)`;
/** The command that starts the launcher: a whole text, or the end of a line after a colon. */
const alone = "(?<=^|: )doorward(?=\\n|$)";
const hint = new RegExp(`${inText}|${alone}`, "g");

/** Writes the name of the command into the hints of a text: `run: doorward open`. */
export const withCommand = (text: string, name: string): string =>
  name === "doorward" ? text : text.replace(hint, () => name);
