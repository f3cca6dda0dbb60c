// Logs the stderr lines, and the stdout lines without effect, of the program at a bounded rate.
import { stripVTControlCharacters } from "node:util";
import type { Clock, Log } from "../../kernel/index.ts";
import type { StderrLine } from "./service.ts";

const maxTextLength = 2_000;
const keptStderrLines = 20;
/** Lines that may follow each other immediately, and lines per second over time. */
const burst = 100;
const linesPerSecond = 10;

const exampleLine = '{"type":"message.create","payload":{"request_id":"1","content":"hello"}}';

/** @returns The text as one line without control characters, cut at `maxLength`. */
export function plainText(text: string, maxLength = maxTextLength): string {
  const cut = text.length > maxLength * 2 ? text.slice(0, maxLength * 2) : text;
  const plain = stripVTControlCharacters(cut)
    .replace(/\p{Cc}+/gu, " ")
    .trimEnd();
  return plain.length > maxLength ? `${plain.slice(0, maxLength)} …` : plain;
}

interface OutputLogOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Removes secrets. */
  readonly redact: (text: string) => string;
}

/** Log of everything the program writes besides valid messages. */
export interface OutputLog {
  stderrLine(text: string): void;
  /** Logs a stdout line that is not a message. The first one comes with an explanation. */
  invalidLine(text: string, reason: string): void;
  /** Logs that a message of the program has no effect. */
  readonly warn: Log["warn"];
  /** Number of those lines since the start of the process. */
  invalidLines(): number;
  /** Counts from zero for a new process. */
  processStarted(): void;
  /** The latest stderr lines, oldest first. */
  recent(): readonly StderrLine[];
}

export function createOutputLog({ clock, log, redact }: OutputLogOptions): OutputLog {
  /** Raw lines. They are cleaned only when read or logged, so that a flood costs little. */
  const recent: { readonly at: number; readonly text: string }[] = [];
  const clean = (text: string): string => redact(plainText(text));
  let tokens = burst;
  let filledAt = clock.now();
  let droppedLines = 0;
  let wasExplained = false;
  let invalidLines = 0;

  function mayWrite(): boolean {
    const now = clock.now();
    tokens = Math.min(burst, tokens + (Math.max(0, now - filledAt) / 1_000) * linesPerSecond);
    filledAt = now;
    if (tokens < 1) {
      droppedLines += 1;
      return false;
    }
    tokens -= 1;
    if (droppedLines > 0)
      log.warn(
        { lines: droppedLines },
        "the program writes more lines than the log accepts; some were left out",
      );
    droppedLines = 0;
    return true;
  }

  return {
    stderrLine(text) {
      recent.push({ at: clock.now(), text });
      if (recent.length > keptStderrLines) recent.shift();
      if (mayWrite()) log.info({ stream: "stderr" }, clean(text));
    },
    invalidLine(text, reason) {
      invalidLines += 1;
      if (!wasExplained) {
        wasExplained = true;
        log.warn(
          { reason, example: exampleLine },
          "the program writes lines to standard output that are not messages. Write one JSON " +
            "object per line, as in the example (docs/programs.md), and log to standard error",
        );
      }
      if (mayWrite()) log.info({ stream: "stdout", reason }, clean(text));
    },
    warn(fields, text) {
      if (mayWrite()) log.warn(fields, text);
    },
    invalidLines: () => invalidLines,
    processStarted() {
      invalidLines = 0;
    },
    recent: () => recent.map(({ at, text }) => ({ at, text: clean(text) })),
  };
}
