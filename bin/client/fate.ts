import type { LinkChange } from "../../lib/pico-link/index.ts";
import { exit } from "../commands/command.ts";

/** How it ended: exit code, a code, and a sentence for people. */
export interface Fate {
  readonly exit: number;
  readonly code: string;
  readonly sentence: string;
}

/** Tries before the first connection, when nobody is there to watch. */
const tries = 3;
/** Nobody who could refuse was reached. */
const noChannel = new Set(["not_found", "upgrade_required"]);

export const interrupted: Fate = { exit: exit.done, code: "interrupted", sentence: "interrupted" };

/** What a person can do about a state of the link, in a sentence. */
export function sentenceOf({ reason, check }: LinkChange): string {
  if (check === undefined) return `no connection (${reason})`;
  return `the other end refuses the connection (${reason}). ${check}`;
}

/** Ends what runs unattended: the other end refuses, ends it, or was never reached. */
export function fateOf(change: LinkChange, wasOpen: boolean): Fate | undefined {
  const { to, reason: code, attempt } = change;
  if (to === "blocked") {
    return {
      exit: noChannel.has(code) ? exit.unreachable : exit.refused,
      code,
      sentence: sentenceOf(change),
    };
  }
  if (to === "waiting" && !wasOpen && attempt >= tries) {
    return {
      exit: exit.unreachable,
      code: "unreachable",
      sentence: `the other end cannot be reached (${code})`,
    };
  }
  if (to !== "stopped") return undefined;
  const isOver = code === "normal";
  return {
    exit: isOver ? exit.done : exit.refused,
    code,
    sentence: `the other end ended the connection (${code})`,
  };
}
