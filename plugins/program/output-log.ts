import { stripVTControlCharacters } from "node:util";
import type { Clock, Log } from "../../kernel/index.ts";
import type { StderrLine } from "./service.ts";

const maxTextLength = 2_000;
const keptStderrLines = 20;
/** Lines that may come at once, and lines of a second over time. */
const burst = 100;
const perSecond = 10;

/** One line without control characters, cut at `most`. */
export function plainText(text: string, most = maxTextLength): string {
  const cut = text.length > most * 2 ? text.slice(0, most * 2) : text;
  const plain = stripVTControlCharacters(cut)
    .replace(/\p{Cc}+/gu, " ")
    .trimEnd();
  return plain.length > most ? `${plain.slice(0, most)} …` : plain;
}

export interface OutputLogOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Takes out what no page may show. */
  readonly redact: (text: string) => string;
}

/** What the program says beside its messages: into the log, not more than a log can hold, and its last lines. */
export interface OutputLog {
  /** A line of standard error. */
  log(text: string): void;
  /** A line of standard output that is no message, and why; the first one is told at length. */
  stray(text: string, reason: string): void;
  recent(): readonly StderrLine[];
}

export function createOutputLog({ clock, log, redact }: OutputLogOptions): OutputLog {
  /** As they came: of a flood only what somebody looks at is made fit to be seen. */
  const recent: { readonly at: number; readonly given: string }[] = [];
  const clean = (given: string): string => redact(plainText(given));
  let tokens = burst;
  let filledAt = clock.now();
  let leftOut = 0;
  let wasExplained = false;

  function mayWrite(): boolean {
    const now = clock.now();
    tokens = Math.min(burst, tokens + (Math.max(0, now - filledAt) / 1_000) * perSecond);
    filledAt = now;
    if (tokens < 1) {
      leftOut += 1;
      return false;
    }
    tokens -= 1;
    if (leftOut > 0)
      log.warn({ lines: leftOut }, "the program says more than the log takes: lines were left out");
    leftOut = 0;
    return true;
  }

  return {
    log(given) {
      recent.push({ at: clock.now(), given });
      if (recent.length > keptStderrLines) recent.shift();
      if (mayWrite()) log.info({ stream: "stderr" }, clean(given));
    },
    stray(given, reason) {
      if (!wasExplained) {
        wasExplained = true;
        log.warn(
          {
            reason,
            example: '{"type":"message.create","payload":{"request_id":"1","content":"hello"}}',
          },
          "the program writes lines that are no messages: one JSON object per line, like the example " +
            "(docs/programs.md); for the log there is standard error",
        );
      }
      if (mayWrite()) log.info({ stream: "stdout", reason }, clean(given));
    },
    recent: () => recent.map(({ at, given }) => ({ at, text: clean(given) })),
  };
}
