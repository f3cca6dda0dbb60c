// Rejects session ids that are tokens, because pages, events and logs show session ids. Redacts the
// ids of open connections that a later rotation turns into tokens.
import { codeOf } from "../../../kernel/index.ts";
import type { Tokens } from "../../token-store/index.ts";
import { WireError, type ClientFrame } from "../../../lib/pico-wire/index.ts";
import type { Peer } from "../connection/registry.ts";
import type { Rejection } from "../handshake/rejection.ts";

export const tokenSessionMessage = "session_id must not be a token. Choose another id.";

/** Contains the request id, but not the session id, because that is a token. */
export function tokenSessionError({ id }: ClientFrame): WireError {
  const error = new WireError("invalid_message", tokenSessionMessage);
  return id === undefined ? error : Object.assign(error, { requestId: id });
}

/**
 * Shorter tokens of other names are not compared: a client could guess them here, past the limiter.
 * It knows the channel token already.
 */
const minUnguessableLength = 43;

export interface SessionGuard {
  /** Compares in constant time. Rejects with the errors of `Tokens.verify`. */
  isToken(session: string): Promise<boolean>;
  /** @returns The reason to reject a request with this session id, if any. */
  check(session: string): Promise<Rejection | undefined>;
}

export function createSessionGuard(tokens: Pick<Tokens, "names" | "verify">): SessionGuard {
  async function isToken(session: string): Promise<boolean> {
    const names = session.trim().length < minUnguessableLength ? ["pico"] : tokens.names();
    const versions = await Promise.all(names.map((name) => tokens.verify(name, session)));
    return versions.some((version) => version !== false);
  }

  return {
    isToken,
    async check(session) {
      try {
        if (!(await isToken(session))) return undefined;
        return { code: "invalid_session_id", message: tokenSessionMessage };
      } catch (error) {
        if (codeOf(error) === "store_unavailable") return { code: "store_unavailable" };
        throw error;
      }
    },
  };
}

const redactedSession = "[redacted]";

/**
 * Replaces the session ids that have become tokens in the data that pages and events show. The
 * connections stay open. It runs after a token has changed, so messages and handshakes pay nothing.
 */
export async function redactSessions(
  peers: Iterable<Pick<Peer, "known">>,
  { isToken }: Pick<SessionGuard, "isToken">,
): Promise<void> {
  for (const peer of peers) {
    const { known } = peer;
    if (known && (await isToken(known.session)))
      peer.known = { ...known, session: redactedSession };
  }
}
