// Writes log lines to a terminal, as JSON or readable.
export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
  on(type: "error", handler: (error: Error) => void): unknown;
}

/** Returns a function that writes lines to a stream; with `pretty`, readable (loads
 *  pino-pretty). */
export async function openTerminal(
  stream: Terminal,
  pretty: boolean,
  hasColours = stream.isTTY === true,
): Promise<(line: string) => void> {
  // A closed pipe (`doorward | head`) must not stop the launcher.
  stream.on("error", () => {});
  if (!pretty) return (line) => void stream.write(line);
  const { default: pinoPretty } = await import("pino-pretty"); // CommonJS
  const format = pinoPretty.prettyFactory({
    colorize: hasColours,
    translateTime: "SYS:HH:MM:ss",
    singleLine: true,
    ignore: "plugin,name,pid,stream",
    messageFormat({ plugin, pid, msg }) {
      const suffix = pid ? ` (process ${String(pid)})` : "";
      return `${plugin ? `${String(plugin)}: ` : ""}${String(msg)}${suffix}`;
    },
  });
  return (line) => void stream.write(format(escapeControls(line)) ?? line);
}

/** Keeps JSON escapes escaped: text from a peer must not move the cursor or reverse the text. */
const escapeControls = (line: string): string =>
  line
    .replace(/(?<!\\)((?:\\\\)*)\\u([0-9a-f]{4})/gi, "$1\\\\u$2")
    .replace(/(?<!\\)((?:\\\\)*)\\([bfr])/g, "$1\\\\$2");
