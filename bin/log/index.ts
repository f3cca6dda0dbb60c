/* The launcher's log: JSON lines in a rotated file and, when wanted, the same lines on a terminal. Every line passes the
 * redactor once, finished, before any output sees it. */
import { pino, type Logger } from "pino";
import { openLogFile, type LogFile, type RotationOptions } from "./file.ts";
import { createRedactor, type Redactor } from "./redact.ts";
import { terminal } from "./terminal.ts";

export { createRedactor, redactLine, type Redactor } from "./redact.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LogOptions extends RotationOptions {
  /** `<home>/logs/launcher.log`; without it lines go to the terminal alone. */
  readonly file?: string;
  /** Default `info`. */
  readonly level?: LogLevel;
  /** Lines for people instead of JSON on `stdout` and `stderr`. */
  readonly pretty?: boolean;
  /** A second output beside the file; without it none. */
  readonly stdout?: NodeJS.WritableStream;
  /** Takes over when the file cannot be opened. */
  readonly stderr: NodeJS.WritableStream;
}

export interface LauncherLog {
  /** Fits the kernel's `Log`. */
  readonly log: Logger;
  readonly redactor: Redactor;
  /** The file in use; `undefined` when there is none. */
  readonly file: string | undefined;
  /** Writes one line as it is, not redacted, to the file and nowhere else. `false`: there is no file. */
  firstRun(line: string): boolean;
  close(): void;
}

/** A file that cannot be opened is one warning on `stderr`, which then gets the lines; a full disk loses lines, warns once
 *  on `stderr` and nothing more. Never rejects for either. */
export async function createLog(options: LogOptions): Promise<LauncherLog> {
  const { level = "info", pretty = false, stdout, stderr, file: path } = options;
  const redactor = createRedactor();
  const warn = once((error: Error) => stderr.write(`The log file ${path} loses lines: ${redactor.redact(error.message)}\n`));
  let refused: unknown;
  const file = path === undefined ? undefined : await openLogFile(path, warn, options).catch((e: unknown) => void (refused = e));
  const screen = refused === undefined ? stdout : stderr;
  const show = screen && (await terminal(screen, pretty));
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: pino.stdSerializers.err },
      hooks: { streamWrite: redactor.redact },
    },
    { write: (line: string) => both(line, file || undefined, show) },
  );
  if (refused !== undefined) log.warn({ file: path, error: refused }, "The log file cannot be opened; lines go to standard error.");
  return {
    log,
    redactor,
    file: file ? path : undefined,
    firstRun: (line) => (file ? (file.write(`${line}\n`), true) : false),
    close: () => file?.close(),
  };
}

function both(line: string, file: LogFile | undefined, show: ((line: string) => void) | undefined): void {
  file?.write(line);
  show?.(line);
}

function once<T>(run: (value: T) => void): (value: T) => void {
  let done = false;
  return (value) => {
    if (!done) run(value);
    done = true;
  };
}
