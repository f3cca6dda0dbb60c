import { codeOf } from "../../../kernel/index.ts";
import type { Http, Identity, Limiter, Verdict } from "../../http/index.ts";
import type { Tokens } from "../../token-store/index.ts";
import type { PicoServerConfig } from "../config.ts";
import {
  readCredentials,
  type OfferedToken,
  type HandshakeRequest,
  type TokenMethod,
  type OfferedCredentials,
} from "./request.ts";
import { isOriginAllowed, isOwnHost } from "./origins.ts";
import type { Rejection } from "./rejection.ts";

export interface Admission {
  readonly method: TokenMethod | "dashboard";
  /** Of the token; undefined for the dashboard's own page. */
  readonly version: number | undefined;
  readonly identity: Identity | undefined;
  readonly echo: string | undefined;
  /** The token may have been replaced meanwhile, the sign-in may have ended. */
  isCurrent(): boolean;
}

export interface AdmissionOptions {
  readonly http: Http;
  readonly tokens: Tokens;
  readonly limiter: Limiter;
  readonly config: () => PicoServerConfig;
  /** Started, not stopping, and the launcher knows its tokens. */
  readonly isOpen: () => boolean;
  /** For those who come while it stops. */
  readonly retryAfterSeconds: () => number | undefined;
}

/** The checks of a handshake in their order. The first failure is returned; nothing is written here. */
export interface AdmissionControl {
  /** Switched off, starting, stopping, without a token. */
  isServing(handshakeRequest: HandshakeRequest): Rejection | undefined;
  allowsOrigin(handshakeRequest: HandshakeRequest): boolean;
  admit(
    handshakeRequest: HandshakeRequest,
    offer: OfferedCredentials,
  ): Promise<Admission | Rejection>;
  /** Asked after each wait: why who was admitted is not served any more. */
  expired(handshakeRequest: HandshakeRequest, admission: Admission): Rejection | undefined;
  offer(handshakeRequest: HandshakeRequest): OfferedCredentials;
  /** The channels listen apart from the dashboard. */
  hasOwnListener(): boolean;
}

interface TokenMatch {
  readonly candidate: OfferedToken;
  readonly version: number;
}

/** Whose pages open the channel without its token: the dashboard's, and those of a host with its own session check. */
const trustedIdentityKinds: ReadonlySet<string> = new Set(["session", "host", "owner"]);

const malformedProtocolMessage = "After token64. comes the token as base64url, without padding.";

export const isRejection = (outcome: Admission | Rejection): outcome is Rejection =>
  "code" in outcome;

export function createAdmissionControl(options: AdmissionOptions): AdmissionControl {
  const { http, tokens, limiter, config } = options;
  const ownOrigin = ({ peer }: HandshakeRequest): string =>
    `${peer.secure ? "https" : "http"}://${peer.host}`;
  const trustedOrigin = (handshakeRequest: HandshakeRequest): string | undefined =>
    isOwnHost(handshakeRequest.peer.host, http.addresses())
      ? ownOrigin(handshakeRequest)
      : undefined;

  /** Channels may have a listener of their own; then the dashboard's serves nobody but the dashboard. */
  const isApart = (): boolean =>
    http.addresses("gateway")[0]?.href !== http.addresses("dashboard")[0]?.href;
  /** Once everything listens, that stays as it is. */
  let apart: boolean | undefined;
  const hasOwnListener = (): boolean =>
    apart ?? (options.isOpen() ? (apart = isApart()) : isApart());
  const onDashboard = ({ q }: HandshakeRequest): boolean => http.listener(q) === "dashboard";

  /** The dashboard's own page: its sign-in opens this one thing, and only from its own origin. */
  function ownPage(
    handshakeRequest: HandshakeRequest,
    offer: OfferedCredentials,
  ): Admission | undefined {
    const { q, isUpgrade, origin } = handshakeRequest;
    if (
      !isUpgrade ||
      offer.tokens.length > 0 ||
      offer.duplicateTokens !== undefined ||
      !onDashboard(handshakeRequest)
    )
      return undefined;
    if (origin === undefined || origin !== ownOrigin(handshakeRequest)) return undefined;
    const find = (): Identity | undefined => {
      const found = http.identityOf(q);
      return found && trustedIdentityKinds.has(found.kind) ? found.identity : undefined;
    };
    const identity = find();
    if (!identity) return undefined;
    const isCurrent = (): boolean => find() !== undefined;
    return { method: "dashboard", version: undefined, identity, echo: undefined, isCurrent };
  }

  /** Tries the tokens in order, one inside the other: when a later one is right, the earlier ones are not counted. */
  async function judge(
    key: string,
    [first, ...rest]: readonly OfferedToken[],
  ): Promise<Verdict<TokenMatch>> {
    const offeredToken = first!;
    const verdict = await limiter.attempt<TokenMatch>(key, offeredToken.value, async () => {
      const version = offeredToken.undecodable
        ? false
        : await tokens.verify("pico", offeredToken.value);
      if (version !== false) return { candidate: offeredToken, version };
      if (rest.length === 0) return false;
      const other = await judge(key, rest);
      return other.outcome === "match" ? other.match : false;
    });
    if (verdict.outcome !== "limited" || rest.length === 0) return verdict;
    const other = await judge(key, rest);
    return other.outcome === "match" ? other : verdict;
  }

  async function compare(
    handshakeRequest: HandshakeRequest,
    { tokens: offered }: OfferedCredentials,
  ): Promise<Admission | Rejection> {
    const different: OfferedToken[] = [];
    for (const token of offered) {
      if ("value" in token && !different.some(({ value }) => value === token.value))
        different.push(token);
    }
    const [first] = offered;
    if (first === undefined) return { code: "token_missing" };
    const { method } = first;
    const code = "refused" in first ? first.refused : "token_mismatch";
    if (different.length === 0) {
      const isItem = code === "token_malformed" && method === "subprotocol";
      return { code, method, ...(isItem && { message: malformedProtocolMessage }) };
    }
    const verdict = await judge(handshakeRequest.peer.key, different);
    if (verdict.outcome === "limited") {
      return { code: "rate_limited", method, retryAfterSeconds: verdict.retryAfterSeconds };
    }
    if (verdict.outcome === "mismatch")
      return { code, method, ...(!verdict.again && { counted: verdict.counted }) };
    return admitted(verdict.match);
  }

  /** By itself, so that what a connection keeps of its admission leads to no token. */
  function admitted({ version, candidate: { method, echo } }: TokenMatch): Admission {
    const isCurrent = (): boolean => tokens.info("pico").version === version;
    return { method, version, identity: undefined, echo, isCurrent };
  }

  const admissionControl: AdmissionControl = {
    hasOwnListener,

    offer: (handshakeRequest) => readCredentials(handshakeRequest, config().allow_token_query),

    isServing() {
      if (!config().enabled) return { code: "not_found" };
      if (!options.isOpen()) {
        const retryAfterSeconds = options.retryAfterSeconds();
        return {
          code: "unavailable",
          ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
        };
      }
      return tokens.info("pico").version === 0 ? { code: "token_not_configured" } : undefined;
    },

    allowsOrigin: (handshakeRequest) =>
      handshakeRequest.origin === undefined ||
      isOriginAllowed(
        config().allow_origins,
        handshakeRequest.origin,
        trustedOrigin(handshakeRequest),
      ),

    expired: (handshakeRequest, { identity, isCurrent }) =>
      admissionControl.isServing(handshakeRequest) ??
      (isCurrent() ? undefined : { code: identity ? "token_missing" : "token_mismatch" }),

    async admit(handshakeRequest, offer) {
      const own = ownPage(handshakeRequest, offer);
      if (own) {
        http.markAuthenticated(handshakeRequest.q);
        return own;
      }
      if (onDashboard(handshakeRequest) && hasOwnListener()) return { code: "not_found" };
      if (!admissionControl.allowsOrigin(handshakeRequest)) return { code: "origin_not_allowed" };
      if (offer.duplicateTokens !== undefined) {
        const verdict = limiter.recordFailure(handshakeRequest.peer.key, offer.duplicateTokens);
        const message = "A token may be offered once by each method.";
        return {
          code: "bad_handshake",
          message,
          ...(verdict.outcome === "mismatch" && { counted: verdict.counted }),
        };
      }
      try {
        const outcome = await compare(handshakeRequest, offer);
        if (!isRejection(outcome)) http.markAuthenticated(handshakeRequest.q);
        return outcome;
      } catch (error) {
        if (codeOf(error) === "store_unavailable") return { code: "store_unavailable" };
        throw error;
      }
    },
  };
  return admissionControl;
}
