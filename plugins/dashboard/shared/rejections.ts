// Describes rejected channel connections: a title, the client and a fix.
import type { RejectedConnectionView, RejectionView } from "./views.ts";
import { lookUp } from "./look-up.ts";

const methods: Readonly<Record<string, string>> = {
  header: "Authorization header",
  subprotocol: "Subprotocol",
  query: "Token in URL",
};

/** @returns Undefined if the client sent no token. */
export const tokenMethod = (via: string): string | undefined => lookUp(methods, via);

const titles: Readonly<Record<string, string>> = {
  token_mismatch: "Wrong token",
  token_missing: "No token",
  sign_in_rejected: "Sign-in does not count",
  token_malformed: "Malformed token",
  token_query_disabled: "Token in URL is not allowed",
  rate_limited: "Too many wrong tokens",
  origin_not_allowed: "Origin not allowed",
  bad_handshake: "Malformed handshake",
  upgrade_required: "Upgrade header missing",
  not_found: "Channel off or wrong path",
  wrong_path: "WebSocket at the wrong path",
  token_not_configured: "The channel has no token",
  store_unavailable: "Token rotation in progress",
  unavailable: "Service starting or stopping",
  too_many_connections: "Maximum connections reached",
  invalid_session_id: "Invalid session ID",
  session_forbidden: "Session of another user",
  method_not_allowed: "Wrong HTTP method",
  unsupported_media_type: "Body is not JSON",
  no_application: "No application is running",
  internal: "Internal error",
};

const fixes: Readonly<Record<string, string>> = {
  token_mismatch:
    "Compare the client’s token with the channel token (Security, or doorward token show pico). " +
    "It must contain no quotes, spaces or line breaks.",
  token_missing:
    "Send Authorization: Bearer <token>, or from a browser the subprotocol token.<token>. " +
    "A proxy may have removed the header.",
  token_malformed:
    "Send the header Authorization: Bearer <token> with one space after Bearer, " +
    "or the subprotocol token.<token>.",
  token_query_disabled:
    "Send the token as a header or subprotocol, or turn on “Token in URL” in Settings.",
  origin_not_allowed: "Add the origin to allow_origins in Settings.",
  bad_handshake: "Use a WebSocket library. The response body names the error in the request.",
  upgrade_required: "A proxy in front of Doorward probably removed the header. See docs/deploy.md.",
  not_found: "Turn the channel on. Its path is /pico, after the base path if there is one.",
  wrong_path: "The channel path is /pico, after the base path if there is one: ws://…/pico.",
  token_not_configured: "Create a token: doorward token rotate pico.",
  too_many_connections: "Raise “Maximum connections” in Settings, or disconnect unused clients.",
  internal: "See the log for details.",
};

export function rejectionTitle({ code }: Pick<RejectionView, "code">): string {
  return lookUp(titles, code) ?? `Rejected: ${code.replaceAll("_", " ")}`;
}

/** @returns The fix for the owner or client author, or undefined if the problem is temporary. */
function rejectionFix({
  code,
  address,
  why,
}: Pick<RejectionView, "code" | "address" | "why">): string | undefined {
  if (why !== undefined) return why;
  if (code === "rate_limited") return `To unblock the address now: doorward unblock ${address}`;
  return lookUp(fixes, code);
}

/** Returns a suffix for repeated events: ` · 3 times`, empty for one. */
const timesLabel = (times: number): string => (times > 1 ? ` · ${times} times` : "");

/** Describes the client: token method, address, origin and number of attempts. */
function rejectionDetail({ via, address, origin, times }: RejectionView): string {
  const client = [tokenMethod(via), address, origin].filter((part) => part !== undefined);
  return client.join(" · ") + timesLabel(times);
}

/** Returns the fix of each row, undefined where an earlier row shows the same fix. */
export function uniqueFixes(rejections: readonly RejectionView[]): readonly (string | undefined)[] {
  const fixes = rejections.map(rejectionFix);
  return fixes.map((fix, index) => (fixes.indexOf(fix) === index ? fix : undefined));
}

/** Adds title, detail, fix and block to a rejection. */
export function toRejectedConnection(rejection: RejectionView): RejectedConnectionView {
  const { at, until: blockedUntil } = rejection;
  const fix = rejectionFix(rejection);
  return {
    at,
    title: rejectionTitle(rejection),
    detail: rejectionDetail(rejection),
    ...(fix !== undefined && { fix }),
    ...(blockedUntil !== undefined && { blockedUntil }),
  };
}

/** Describes the remaining block of an address. Both times are Unix milliseconds. */
export const blockedLabel = (until: number, now: number): string =>
  until > now ? `Blocked for ${Math.ceil((until - now) / 1000)} s.` : "No longer blocked.";
