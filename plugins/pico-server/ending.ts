import type { Disconnected } from "./shared.ts";

/** What a close says. */
export interface Said {
  readonly code: number;
  readonly reason: string;
}

type Ending = Omit<Disconnected, "connection" | "session">;

const printable = (text: string): string => text.replace(/\p{Cc}/gu, " ");

/** Who ended a connection: a client says a code first, the library answers a violation, a network says nothing. `own`:
 *  what this side said first. */
export function endingOf(code: number, text: string, own: Said | undefined): Ending {
  if (own) return { code: own.code, reason: own.reason, initiator: "server" };
  return { code, reason: printable(text), initiator: code === 1006 ? "network" : "client" };
}
