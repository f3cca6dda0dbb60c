// Logs the stderr lines, and the stdout lines without effect, of the program at a bounded rate.
import { stripVTControlCharacters } from "node:util";
import type { Clock, Log } from "../../kernel/index.ts";
import type { StderrLine } from "./status.ts";

const maxTextLength = 2_000;
const keptStderrLines = 20;
/** Lines that may follow each other immediately, and lines per second over time. */
const burst = 100;
const linesPerSecond = 10;

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
  /** Says with the first invalid line how to repair the program. */
  readonly advice: { readonly fields: object; readonly text: string };
}

/** Log of everything the program writes besides valid messages. */
export class OutputLog {
  private readonly options: OutputLogOptions;
  /** Raw lines. They are cleaned only when read or logged, so that a flood costs little. */
  private readonly stderrLines: StderrLine[] = [];
  private tokens = burst;
  private filledAt: number;
  private droppedLines = 0;
  private wasExplained = false;
  private invalidCount = 0;
  private lastInvalid: { readonly text: string; readonly reason: string } | undefined;

  constructor(options: OutputLogOptions) {
    this.options = options;
    this.filledAt = options.clock.now();
  }

  stderrLine(text: string): void {
    const { clock, log } = this.options;
    this.stderrLines.push({ at: clock.now(), text });
    if (this.stderrLines.length > keptStderrLines) this.stderrLines.shift();
    if (this.mayWrite()) log.info({ stream: "stderr" }, this.clean(text));
  }

  /** Logs a stdout line that is not a message. The first one comes with an explanation. */
  invalidLine(text: string, reason: string): void {
    const { log, advice } = this.options;
    this.invalidCount += 1;
    this.lastInvalid = { text, reason };
    if (!this.wasExplained) {
      this.wasExplained = true;
      log.warn({ reason, ...advice.fields }, advice.text);
    }
    if (this.mayWrite()) log.info({ stream: "stdout", reason }, this.clean(text));
  }

  /** Logs that a message of the program has no effect. */
  warn(fields: object, text: string): void {
    if (this.mayWrite()) this.options.log.warn(fields, text);
  }

  /** Number of invalid lines since the start of the process. */
  invalidLines(): number {
    return this.invalidCount;
  }

  /** The latest of them, without secrets and control characters. */
  lastInvalidLine(): { readonly text: string; readonly reason: string } | undefined {
    const last = this.lastInvalid;
    return last && { text: this.clean(last.text), reason: this.clean(last.reason) };
  }

  /** Counts from zero for a new process. */
  processStarted(): void {
    this.invalidCount = 0;
    this.lastInvalid = undefined;
  }

  /** The latest stderr lines, oldest first. */
  recent(): readonly StderrLine[] {
    return this.stderrLines.map(({ at, text }) => ({ at, text: this.clean(text) }));
  }

  private clean(text: string): string {
    return this.options.redact(plainText(text));
  }

  private mayWrite(): boolean {
    const { clock, log } = this.options;
    const now = clock.now();
    const elapsedS = Math.max(0, now - this.filledAt) / 1_000;
    this.tokens = Math.min(burst, this.tokens + elapsedS * linesPerSecond);
    this.filledAt = now;
    if (this.tokens < 1) {
      this.droppedLines += 1;
      return false;
    }
    this.tokens -= 1;
    if (this.droppedLines > 0)
      log.warn(
        { lines: this.droppedLines },
        "the program writes more lines than the log accepts; some were left out",
      );
    this.droppedLines = 0;
    return true;
  }
}
