/* The launcher's log: JSON lines in a rotated file and, when wanted, the same lines on a terminal. Every line passes
 * the redactor once, finished, before any output sees it. */
import { pino, type Level, type Logger } from "pino";
import { escapeUnsafe } from "../client/text.ts";
import { openLogFile, type LogFile, type RotationOptions } from "./file.ts";
import { createRedactor, type Redactor } from "./redact.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

export { createRedactor, redactLine, type Redactor } from "./redact.ts";
export { logSource } from "./source.ts";

export interface LogOptions extends RotationOptions {
  /** `<home>/logs/launcher.log`; without it there is no file. */
  readonly file?: string;
  /** Default `info`. */
  readonly level?: Level;
  /** Lines for people instead of JSON on `stdout` and `stderr`. */
  readonly pretty?: boolean;
  /** Gets every line too. */
  readonly stdout?: Terminal;
  /** Which lines `stdout` gets; default all. */
  readonly shows?: (line: string) => boolean;
  /** Gets every line, in place of `stdout`, when the file cannot be opened; one warning when the file loses lines. */
  readonly stderr: Terminal;
}

export interface LauncherLog {
  /** Fits the kernel's `Log`. */
  readonly log: Logger;
  /** Tell it every token in play. */
  readonly redactor: Redactor;
  /** The file in use; `undefined` when there is none. */
  readonly file: string | undefined;
  /** Writes a line to the file and nowhere else, the only one that is not redacted. `false`: there is no file. */
  firstRun(line: string): boolean;
  /** Gets every line that is written from now on, redacted. */
  follow(heard: (line: string) => void): () => void;
  close(): void;
}

/** Never rejects: a file that cannot be opened is one warning, and so is one that loses lines on a full disk. */
export async function createLog(options: LogOptions): Promise<LauncherLog> {
  const { level = "info", pretty = false, stdout, stderr, file: path, shows } = options;
  const redactor = createRedactor();
  const lost = once((error: Error) =>
    stderr.write(`${path} loses lines: ${redactor.redact(error.message)}\n`),
  );
  const opened =
    path === undefined
      ? undefined
      : await openLogFile(path, lost, options).catch((error: Error) => error);
  const file = opened instanceof Error ? undefined : opened;
  const followers = new Set<(line: string) => void>();
  const screen = opened instanceof Error ? stderr : stdout;
  const show = screen && (await openTerminal(screen, pretty));
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
    outputs(file, shown, followers),
  );
  if (opened instanceof Error)
    log.warn({ file: path, reason: opened.message }, "the log file cannot be opened");
  return {
    log,
    redactor,
    file: file && path,
    firstRun(line) {
      file?.write(`${line}\n`);
      return file !== undefined;
    },
    follow(heard) {
      followers.add(heard);
      return () => void followers.delete(heard);
    },
    close: () => file?.close(),
  };
}

type Followers = ReadonlySet<(line: string) => void>;
const outputs = (
  file: LogFile | undefined,
  show: ((line: string) => void) | undefined,
  followers: Followers,
) => ({
  write(line: string): void {
    file?.write(line);
    show?.(line);
    for (const heard of followers) heard(line);
  },
});

function once<T>(run: (value: T) => void): (value: T) => void {
  let done = false;
  return (value) => {
    if (!done) run(value);
    done = true;
  };
}
