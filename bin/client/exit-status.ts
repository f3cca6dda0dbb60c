// Maps states of the link to exit codes and sentences.
import type { ChatStateChange } from "../../lib/pico-link/index.ts";
import { connectionAdvice } from "../../plugins/pico-client/index.ts";
import { exitCodes } from "../commands/command.ts";

/** Why the client ended. */
export interface ExitStatus {
  readonly exit: number;
  readonly code: string;
  /** For the terminal. */
  readonly sentence: string;
}

/** Attempts to reach the server for the first time, without a terminal. */
const maxAttempts = 3;
/** Rejections that mean there is no channel at this address. */
const noChannelCodes = new Set(["not_found", "upgrade_required"]);

export const interrupted: ExitStatus = {
  exit: exitCodes.done,
  code: "interrupted",
  sentence: "interrupted",
};

/** @returns A sentence about a state of the link, with what the user can do about it. */
export function linkAdvice({ reason, check }: ChatStateChange): string {
  if (check === undefined) return `no connection (${reason})`;
  return `the server rejects the connection (${reason}). ${check}`;
}

/** @returns How a client without a terminal ends at this change; undefined if it goes on. */
export function exitStatusOf(change: ChatStateChange, wasOpen: boolean): ExitStatus | undefined {
  const { to, reason: code, attempt } = change;
  if (to === "blocked") {
    return {
      exit: noChannelCodes.has(code) ? exitCodes.unreachable : exitCodes.refused,
      code,
      sentence: linkAdvice(change),
    };
  }
  if (to === "waiting" && !wasOpen && attempt >= maxAttempts) {
    const advice = connectionAdvice(code);
    const sentence = `the server cannot be reached (${code})`;
    return {
      exit: exitCodes.unreachable,
      code: "unreachable",
      sentence: advice === undefined ? sentence : `${sentence}. ${advice}`,
    };
  }
  if (to !== "closed") return undefined;
  return {
    exit: code === "normal" ? exitCodes.done : exitCodes.refused,
    code,
    sentence: `the server closed the connection (${code})`,
  };
}
