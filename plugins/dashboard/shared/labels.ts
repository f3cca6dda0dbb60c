// Sentences about a link that stays closed.
import { lookUp } from "./look-up.ts";

const linkCloseMessages: Readonly<Record<string, string>> = {
  normal: "The server closed the connection.",
  session_ended: "Your session has ended. Sign in, then connect again.",
  bad_request: "The channel closed the connection because it received malformed messages.",
  unauthorized: "The channel no longer has a token.",
  forbidden: "The owner disconnected this client.",
  replaced: "Another connection continues this conversation.",
};

/** Explains why the link will not reconnect by itself. */
export const linkClosedMessage = (reason: string): string =>
  lookUp(linkCloseMessages, reason) ?? `The connection was closed (${reason}).`;

const linkRejections: Readonly<Record<string, string>> = {
  no_channel: "This service has no channel.",
  unauthorized: "You are signed out.",
  not_found: "The channel is off.",
  channel_managed: "The channel is off, and this page can't turn it on.",
  too_many_connections: "The channel has reached its maximum number of connections.",
};

/**
 * Explains why the channel rejects connections.
 *
 * @returns One sentence, or undefined if the link recovers by itself.
 */
export const linkRejectedMessage = (reason: string): string | undefined =>
  lookUp(linkRejections, reason);
