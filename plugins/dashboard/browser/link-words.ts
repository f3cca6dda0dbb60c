import type { LinkState } from "../../../lib/pico-link/page.ts";
import { lookUp } from "./words.ts";

/** Badge and tone of each state of a link. */
export const linkStateBadges: Readonly<Record<LinkState, readonly [string, string]>> = {
  idle: ["Connecting", "off"],
  connecting: ["Connecting", "off"],
  open: ["Connected", "ok"],
  waiting: ["Reconnecting…", "warn"],
  blocked: ["Disconnected", "bad"],
  stopped: ["Disconnected", "bad"],
};

const linkCloseMessages: Readonly<Record<string, string>> = {
  normal: "The connection was ended.",
  session_ended:
    "The session of this browser has ended, and the connection with it. Connect again once you are signed in.",
  bad_request: "The channel closed the connection because of malformed messages.",
  unauthorized: "The channel has no token any more.",
  forbidden: "The owner of this service disconnected this connection.",
  replaced: "This conversation was continued by another connection.",
};

/** Why a connection is over for good. */
export const linkClosedMessage = (reason: string): string =>
  lookUp(linkCloseMessages, reason) ?? `The connection was closed (${reason}).`;

const refusals: Readonly<Record<string, string>> = {
  no_channel: "This service was started without a pico channel.",
  not_found: "The channel is off. Turn it on on the overview.",
  too_many_connections: "All connections of the channel are taken.",
};

/** Why the channel takes no connection now; undefined where a moment's patience is all that is needed. */
export const linkRejectedMessage = (reason: string): string | undefined => lookUp(refusals, reason);
