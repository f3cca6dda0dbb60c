export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
  on(type: "error", handler: (error: Error) => void): unknown;
}

/** Writes lines to a stream; with `pretty` in the form for people. pino-pretty is loaded only then. */
export async function openTerminal(
  stream: Terminal,
  pretty: boolean,
): Promise<(line: string) => void> {
  // A closed pipe (`doorward | head`) must not end the launcher.
  stream.on("error", () => {});
  if (!pretty) return (line) => void stream.write(line);
  const { default: pretties } = await import("pino-pretty"); // CommonJS: a bundle gives it no names
  const format = pretties.prettyFactory({
    colorize: stream.isTTY === true,
    translateTime: "SYS:HH:MM:ss",
    singleLine: true,
    ignore: "plugin,name,pid,stream",
    messageFormat: ({ plugin, pid, msg }) =>
      `${plugin ? `${String(plugin)}: ` : ""}${String(msg)}${pid ? ` (process ${String(pid)})` : ""}`,
  });
  return (line) => void stream.write(format(escapeControls(line)) ?? line);
}

/** Escapes of a JSON line as text: what a peer sent must not move the cursor of a terminal, nor turn what follows. */
const escapeControls = (line: string): string =>
  line
    .replace(/(?<!\\)((?:\\\\)*)\\u([0-9a-f]{4})/gi, "$1\\\\u$2")
    .replace(/(?<!\\)((?:\\\\)*)\\([bfr])/g, "$1\\\\$2");
