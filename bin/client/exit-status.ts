import type { LinkChange } from "../../lib/pico-link/index.ts";
import { exitCodes } from "../commands/command.ts";

/** How it ended: exit code, a code, and a sentence for people. */
export interface ExitStatus {
  readonly exit: number;
  readonly code: string;
  readonly sentence: string;
}

/** Tries before the first connection, when nobody is there to watch. */
const maxAttempts = 3;
/** Nobody who could refuse was reached. */
const noChannelCodes = new Set(["not_found", "upgrade_required"]);

export const interrupted: ExitStatus = {
  exit: exitCodes.done,
  code: "interrupted",
  sentence: "interrupted",
};

/** What a person can do about a state of the link, in a sentence. */
export function linkAdvice({ reason, check }: LinkChange): string {
  if (check === undefined) return `no connection (${reason})`;
  return `the other end refuses the connection (${reason}). ${check}`;
}

/** Ends what runs unattended: the other end refuses, ends it, or was never reached. */
export function exitStatusOf(change: LinkChange, wasOpen: boolean): ExitStatus | undefined {
  const { to, reason: code, attempt } = change;
  if (to === "blocked") {
    return {
      exit: noChannelCodes.has(code) ? exitCodes.unreachable : exitCodes.refused,
      code,
      sentence: linkAdvice(change),
    };
  }
  if (to === "waiting" && !wasOpen && attempt >= maxAttempts) {
    return {
      exit: exitCodes.unreachable,
      code: "unreachable",
      sentence: `the other end cannot be reached (${code})`,
    };
  }
  if (to !== "stopped") return undefined;
  const isOver = code === "normal";
  return {
    exit: isOver ? exitCodes.done : exitCodes.refused,
    code,
    sentence: `the other end ended the connection (${code})`,
  };
}
