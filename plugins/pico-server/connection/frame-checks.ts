// Checks of a frame that ask the token store or the conversations.
import { messageErrors, WireError, type ClientFrame } from "../../../lib/pico-wire/index.ts";
import { tokenSessionError } from "../session/session-guard.ts";
import type { ConnectionContext } from "./context.ts";
import type { InboundOwner } from "./inbound-owner.ts";

const unknownTurnError = ({ id }: ClientFrame, session: string): WireError =>
  Object.assign(new WireError("unknown_turn", messageErrors.unknown_turn.message), {
    ...(id !== undefined && { requestId: id }),
    sessionId: session,
  });

/**
 * Runs before the connection uses a session for the first time, and before a message that replaces
 * another one.
 *
 * @param replaced - Id of the message that this one is a new version of.
 * @returns The reason to reject the frame.
 */
export async function findRejection(
  { delivery, sessions }: Pick<ConnectionContext, "delivery" | "sessions">,
  frame: ClientFrame,
  session: string,
  owner: Pick<InboundOwner, "usesSession" | "tokenVersion">,
  replaced: string | undefined,
): Promise<WireError | undefined> {
  const isNew = !owner.usesSession(session);
  if (isNew && (await delivery.isToken(session, owner.tokenVersion !== undefined)))
    return tokenSessionError(frame);
  const isUnknown = replaced !== undefined && !(await sessions.hasTurn(session, replaced));
  return isUnknown ? unknownTurnError(frame, session) : undefined;
}
