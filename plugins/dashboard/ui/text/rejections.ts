/** Why clients of the channel were refused, and what mends it. Pure: the server writes the first rows with them. */
import type { RejectedConnectionView, RejectionView } from "../../api/views.ts";
import { timesLabel, lookUp } from "./labels.ts";

const methods: Readonly<Record<string, string>> = {
  header: "Authorization header",
  subprotocol: "Subprotocol",
  query: "Token in the address",
};

const titles: Readonly<Record<string, string>> = {
  token_mismatch: "Wrong token",
  token_missing: "No token",
  token_malformed: "Malformed token",
  token_query_disabled: "Token by a way that is switched off",
  rate_limited: "Too many wrong tokens",
  origin_not_allowed: "Page of an origin that is not allowed",
  bad_handshake: "Malformed handshake",
  upgrade_required: "Handshake without Upgrade",
  not_found: "Channel off, or wrong path",
  wrong_path: "WebSocket at a wrong path",
  token_not_configured: "The channel has no token",
  store_unavailable: "Came while the token was replaced",
  unavailable: "Came while the service started or stopped",
  too_many_connections: "All connections were taken",
  invalid_session_id: "Session name that is not allowed",
  method_not_allowed: "Wrong HTTP method",
  unsupported_media_type: "Body that is not JSON",
  no_application: "No application answers",
  internal: "Failed by a fault of the service",
};

const fixes: Readonly<Record<string, string>> = {
  token_mismatch:
    "Compare the client's token with the channel's (Tokens, doorward token show pico): no quotes, space or line end.",
  token_missing:
    "Send Authorization: Bearer <token>, from a browser the subprotocol token.<token>. Proxies may remove headers.",
  token_malformed:
    "The header is Authorization: Bearer <token>, with one space after Bearer; the subprotocol is token.<token>.",
  token_query_disabled:
    "Send it as header or subprotocol, or turn on allow_token_query in Settings.",
  origin_not_allowed: "Add the origin to allow_origins in Settings.",
  bad_handshake:
    "Use a WebSocket library: the body of the answer says what is wrong with the request.",
  upgrade_required: "A proxy on the way removes the header: docs/deploy.md has the lines it needs.",
  not_found: "Turn the channel on; its path is /pico, after the base path if there is one.",
  wrong_path: "The channel's path is /pico, after the base path if there is one: ws://…/pico.",
  token_not_configured: "Make one: doorward token rotate pico.",
  too_many_connections:
    "Raise max_connections in Settings, or disconnect clients that are not needed.",
  internal: "The log has the details.",
};

export function rejectionTitle({ code }: Pick<RejectionView, "code">): string {
  return lookUp(titles, code) ?? `Refused: ${code.replaceAll("_", " ")}`;
}

/** What the owner or the client's author does about it; undefined: nothing, it goes by. */
function rejectionFix({
  code,
  address,
}: Pick<RejectionView, "code" | "address">): string | undefined {
  if (code === "rate_limited") return `To let it try at once: doorward unblock ${address}`;
  return lookUp(fixes, code);
}

/** Which client: how its token came, from where, how often. */
export function rejectionDetail({ via, address, origin, times }: RejectionView): string {
  const which = [lookUp(methods, via), address, origin].filter((part) => part !== undefined);
  return which.join(" · ") + timesLabel(times);
}

/** The fix of each row, left out where a row before has the same one. */
export function uniqueFixes(refusals: readonly RejectionView[]): readonly (string | undefined)[] {
  const fixes = refusals.map(rejectionFix);
  return fixes.map((fix, at) => (fixes.indexOf(fix) === at ? fix : undefined));
}

/** For whoever writes no rows of his own. */
export function toRejectedConnection(refusal: RejectionView): RejectedConnectionView {
  const { at, until: blockedUntil } = refusal;
  const fix = rejectionFix(refusal);
  return {
    at,
    title: rejectionTitle(refusal),
    detail: rejectionDetail(refusal),
    ...(fix !== undefined && { fix }),
    ...(blockedUntil !== undefined && { blockedUntil }),
  };
}
