import type { DisconnectedEvent } from "./shared.ts";

/** What a close says. */
export interface CloseFrame {
  readonly code: number;
  readonly reason: string;
}

type CloseOutcome = Omit<DisconnectedEvent, "connection" | "session">;

const stripControls = (text: string): string => text.replace(/\p{Cc}/gu, " ");

/** Who ended a connection: a client says a code first, the library answers a violation, a network says nothing. `own`:
 *  what this side said first. */
export function closeOutcome(
  code: number,
  text: string,
  own: CloseFrame | undefined,
): CloseOutcome {
  if (own) return { code: own.code, reason: own.reason, initiator: "server" };
  return { code, reason: stripControls(text), initiator: code === 1006 ? "network" : "client" };
}
