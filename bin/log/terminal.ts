export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
  on(type: "error", handler: (error: Error) => void): unknown;
}

/** Writes lines to a stream; with `pretty` in the form for people. pino-pretty is loaded only then. */
export async function openTerminal(stream: Terminal, pretty: boolean): Promise<(line: string) => void> {
  // A closed pipe (`doorward | head`) must not end the launcher.
  stream.on("error", () => {});
  if (!pretty) return (line) => void stream.write(line);
  const { default: pretties } = await import("pino-pretty"); // CommonJS: a bundle gives it no names
  const format = pretties.prettyFactory({
    colorize: stream.isTTY === true, translateTime: "SYS:HH:MM:ss", singleLine: true, ignore: "plugin,name,pid,stream",
    messageFormat: ({ plugin, pid, msg }) =>
      `${plugin ? `${String(plugin)}: ` : ""}${String(msg)}${pid ? ` (process ${String(pid)})` : ""}`,
  });
  return (line) => void stream.write(format(visible(line)) ?? line);
}

/** Control characters of a JSON line as visible escapes: a peer's text must not move the cursor of a terminal. */
const visible = (line: string): string =>
  line
    .replace(/(?<!\\)((?:\\\\)*)\\u00([01][0-9a-f]|7f)/gi, "$1\\\\u00$2")
    .replace(/(?<!\\)((?:\\\\)*)\\([bfr])/g, "$1\\\\$2")
    .replace(/[\u007f-\u009f]/g, (character) => `\\\\u00${character.charCodeAt(0).toString(16)}`);
