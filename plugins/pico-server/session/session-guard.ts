// Rejects session ids that are tokens, because pages, events and logs show session ids. Redacts the
// ids of open connections that a later rotation turns into tokens.
import { codeOf } from "../../../kernel/index.ts";
import type { Tokens } from "../../token-store/index.ts";
import type { Peer } from "../connection/registry.ts";
import type { Rejection } from "../handshake/rejection.ts";

export const tokenSessionMessage = "session_id must not be a token. Choose another id.";

/**
 * Shorter tokens are not compared: a client could guess them here, past the limiter. The exception
 * is the channel token, if the client has sent it already.
 */
const minUnguessableLength = 43;

export class SessionGuard {
  private readonly tokens: Pick<Tokens, "names" | "match">;

  private readonly containsKey: (text: string) => boolean;

  constructor(
    tokens: Pick<Tokens, "names" | "match">,
    containsKey: (text: string) => boolean = () => false,
  ) {
    this.tokens = tokens;
    this.containsKey = containsKey;
  }

  /**
   * Compares in constant time. Rejects with the errors of `Tokens.verify`. Needs no `this`.
   *
   * @param knowsToken - False for a client that a sign-in authenticated. @defaultValue `true`
   */
  readonly isToken = async (session: string, knowsToken = true): Promise<boolean> => {
    const { tokens } = this;
    if (this.containsKey(session)) return true;
    const isShort = session.trim().length < minUnguessableLength;
    const names = isShort ? (knowsToken ? ["pico"] : []) : tokens.names();
    const matches = await Promise.all(names.map((name) => tokens.match(name, session)));
    return matches.some((match) => match !== false);
  };

  /** @returns The reason to reject a request with this session id, if any. */
  async check(session: string, knowsToken: boolean): Promise<Rejection | undefined> {
    try {
      if (!(await this.isToken(session, knowsToken))) return undefined;
      return { code: "invalid_session_id", message: tokenSessionMessage };
    } catch (error) {
      if (codeOf(error) === "store_unavailable") return { code: "store_unavailable" };
      throw error;
    }
  }
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
