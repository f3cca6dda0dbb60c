// The launcher log: JSON lines in a rotated file, and optionally on a terminal. The redactor
// processes each complete line once, before any output receives it.
import { pino, type Level } from "pino";
import { describeFailure } from "../../lib/files/index.ts";
import { escapeUnsafe } from "../client/text.ts";
import { openLogFile, type RotationOptions } from "./file.ts";
import { createRedactor } from "./redact.ts";

export { createRedactor, redactLine } from "./redact.ts";
export { logSource } from "./source.ts";

export interface LogOptions extends RotationOptions {
  /** `<home>/logs/launcher.log`; absent: no file. */
  readonly file?: string;
  /** @defaultValue `"info"` */
  readonly level?: Level;
  /** Writes readable lines instead of JSON to `stdout` and `stderr`. */
  readonly pretty?: boolean;
  /** Colours readable lines. @defaultValue if the stream is a terminal */
  readonly colours?: boolean;
  /** Receives every line too. */
  readonly stdout?: Terminal;
  /** Selects the lines for `stdout`. @defaultValue all lines */
  readonly shows?: (line: string) => boolean;
  /** Receives every line, instead of `stdout`, if the file cannot be opened; and one warning if the
   *  file loses lines. */
  readonly stderr: Terminal;
}

/** Never rejects: logs one warning if the file cannot be opened or loses lines on a full disk. */
export async function createLog(options: LogOptions) {
  const { level = "info", pretty = false, colours, stdout, stderr, file: path, shows } = options;
  const redactor = createRedactor();
  const warnLostLines = once((error: Error) =>
    stderr.write(`${path} loses lines: ${redactor.redact(error.message)}\n`),
  );
  const opened =
    path === undefined
      ? undefined
      : await openLogFile(path, warnLostLines, options).catch((error: Error) => error);
  const file = opened instanceof Error ? undefined : opened;
  const followers = new Set<(line: string) => void>();
  const screen = opened instanceof Error ? stderr : stdout;
  const show = screen && (await openTerminal(screen, pretty, colours));
  const shown =
    show && shows && screen === stdout ? (line: string) => void (shows(line) && show(line)) : show;
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: pino.stdSerializers.err },
      hooks: { streamWrite: (line) => escapeUnsafe(redactor.redact(line)) },
    },
    {
      write(line: string): void {
        file?.write(line);
        shown?.(line);
        for (const onLine of followers) onLine(line);
      },
    },
  );
  if (opened instanceof Error)
    log.warn({ file: path, reason: describeFailure(opened) }, "the log file cannot be opened");
  return {
    /** Implements the kernel's `Log`. */
    log,
    /** Add every token in use. */
    redactor,
    /** The file in use, if any. */
    file: file && path,
    /** Writes an unredacted line to the file only. @returns False if there is no file. */
    firstRun(line: string): boolean {
      file?.write(`${line}\n`);
      return file !== undefined;
    },
    /** Passes every following line to `onLine`, redacted. @returns A function that stops this. */
    follow(onLine: (line: string) => void): () => void {
      followers.add(onLine);
      return () => void followers.delete(onLine);
    },
    close: () => file?.close(),
  };
}

export type LauncherLog = Awaited<ReturnType<typeof createLog>>;

function once<T>(run: (value: T) => void): (value: T) => void {
  let done = false;
  return (value) => {
    if (!done) run(value);
    done = true;
  };
}

interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
  on(type: "error", handler: (error: Error) => void): unknown;
}

/** Returns a function that writes lines to a stream; with `pretty`, readable (loads
 *  pino-pretty). */
async function openTerminal(
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
