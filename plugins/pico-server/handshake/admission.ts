// Checks a request to the channel in order: state, listener, origin, credentials.
import { codeOf, type Log } from "../../../kernel/index.ts";
import type { Http, Identity, Limiter, Verdict } from "../../http/index.ts";
import type { QuestionVia } from "../../channels/index.ts";
import type { TokenMatch, Tokens } from "../../token-store/index.ts";
import type { PicoServerConfig } from "../config.ts";
import { toPerson, tokenHolder, toTokenPerson, type Person } from "./identity.ts";
import {
  readCredentials,
  type OfferedToken,
  type HandshakeRequest,
  type TokenMethod,
  type OfferedCredentials,
} from "./request.ts";
import { corsHeaders, explainOrigin, isFromSameOrigin, isOriginAllowed } from "./origins.ts";
import type { Rejection } from "./rejection.ts";

export interface Admission extends Person {
  readonly method: TokenMethod | "dashboard";
  /** Version of the token; undefined for a page of the dashboard. */
  readonly version: number | undefined;
  readonly identity: Identity | undefined;
  /** Where its answers to questions come from: the dashboard or the channel. */
  readonly via: QuestionVia;
  readonly echo: string | undefined;
  /** False after the token was replaced or the browser was signed out. */
  isCurrent(): boolean;
}

interface AdmissionOptions {
  readonly http: Http;
  readonly tokens: Tokens;
  readonly limiter: Limiter;
  readonly config: () => PicoServerConfig;
  readonly log: Log;
  /** True while the service is started, not stopping, and has its tokens. */
  readonly isOpen: () => boolean;
  /**
   * True while the store that several nodes share is away: tokens cannot be compared, and sessions
   * cannot be read.
   */
  readonly isStoreAway: () => boolean;
  /** The `Retry-After` of clients that connect while the service stops. */
  readonly retryAfterSeconds: () => number | undefined;
}

interface OfferedMatch extends TokenMatch {
  readonly token: OfferedToken;
}

/**
 * Kinds of identity that may open the channel without its token: pages of the dashboard, and pages
 * of a host with its own session check.
 */
const trustedIdentityKinds: ReadonlySet<string> = new Set(["session", "host", "owner"]);
/** Paths for pages of the dashboard whose WebSocket a proxy blocks. */
const pagePaths: ReadonlySet<string> = new Set([
  "/pico/answer",
  "/pico/events",
  "/pico/messages",
  "/pico/stop",
]);
/** Kinds that may send requests to all paths. */
export const hostIdentityKinds: ReadonlySet<string> = new Set(["host", "owner"]);

const malformedProtocolMessage =
  "token64. must be followed by the token in base64url without padding.";

export const isRejection = (outcome: Admission | Rejection): outcome is Rejection =>
  "code" in outcome;

/** @returns The CORS headers for an allowed origin; otherwise no headers. */
export const corsHeadersFor = (
  admissionControl: Pick<AdmissionControl, "allowsOrigin">,
  handshakeRequest: HandshakeRequest,
): Readonly<Record<string, string>> =>
  handshakeRequest.origin !== undefined && admissionControl.allowsOrigin(handshakeRequest)
    ? corsHeaders(handshakeRequest.origin)
    : {};

function distinctTokens(offered: OfferedCredentials["tokens"]): OfferedToken[] {
  const distinct: OfferedToken[] = [];
  for (const token of offered) {
    if ("value" in token && !distinct.some(({ value }) => value === token.value))
      distinct.push(token);
  }
  return distinct;
}

/** Returns the first failure as a value and writes no response. */
export class AdmissionControl {
  protected readonly options: AdmissionOptions;
  /** Listeners cannot change after start, so the result is cached. */
  private isApart: boolean | undefined;

  constructor(options: AdmissionOptions) {
    this.options = options;
  }

  /** True if the channels have a listener apart from the dashboard. */
  hasOwnListener(): boolean {
    if (this.isApart !== undefined) return this.isApart;
    const { http, isOpen } = this.options;
    const isApart = http.addresses("gateway")[0]?.href !== http.addresses("dashboard")[0]?.href;
    if (isOpen()) this.isApart = isApart;
    return isApart;
  }

  credentials(handshakeRequest: HandshakeRequest): OfferedCredentials {
    return readCredentials(handshakeRequest, this.options.config().allow_token_query);
  }

  /** @returns The rejection if the channel is off, starting, stopping or without a token. */
  isServing(): Rejection | undefined {
    const { config, isOpen, tokens } = this.options;
    if (!config().enabled) return { code: "not_found" };
    if (!isOpen()) {
      const retryAfterSeconds = this.options.retryAfterSeconds();
      return {
        code: "unavailable",
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      };
    }
    if (this.options.isStoreAway()) return { code: "store_unavailable" };
    return tokens.info("pico").version === 0 ? { code: "token_not_configured" } : undefined;
  }

  allowsOrigin(handshakeRequest: HandshakeRequest): boolean {
    const { origin, peer } = handshakeRequest;
    if (origin === undefined) return true;
    const { http, config } = this.options;
    return isOriginAllowed(config().allow_origins, origin, { http, peer });
  }

  /** Call after each await: returns a rejection if the admission is no longer valid. */
  expired({ identity, isCurrent }: Admission): Rejection | undefined {
    return (
      this.isServing() ??
      (isCurrent() ? undefined : { code: identity ? "token_missing" : "token_mismatch" })
    );
  }

  async admit(
    handshakeRequest: HandshakeRequest,
    credentials: OfferedCredentials,
  ): Promise<Admission | Rejection> {
    const { http } = this.options;
    const page = this.admitPage(handshakeRequest, credentials);
    if (page) {
      if (!isRejection(page)) http.markAuthenticated(handshakeRequest.request);
      return page;
    }
    const person = this.admitBearer(handshakeRequest, credentials);
    if (this.isOnDashboard(handshakeRequest) && this.hasOwnListener()) return { code: "not_found" };
    if (!this.allowsOrigin(handshakeRequest)) return { code: "origin_not_allowed" };
    if (person) {
      http.markAuthenticated(handshakeRequest.request);
      return person;
    }
    const { duplicateTokens } = credentials;
    if (duplicateTokens !== undefined)
      return this.rejectDuplicates(handshakeRequest, duplicateTokens);
    try {
      const outcome = await this.compare(handshakeRequest, credentials);
      if (!isRejection(outcome)) http.markAuthenticated(handshakeRequest.request);
      return outcome;
    } catch (error) {
      if (codeOf(error) === "store_unavailable") return { code: "store_unavailable" };
      throw error;
    }
  }

  protected isOnDashboard({ request }: HandshakeRequest): boolean {
    return this.options.http.listener(request) === "dashboard";
  }

  /**
   * A signed-in page may open a WebSocket or an event stream, send messages and stop them. A page
   * of a host may send all requests. All only from the same origin.
   *
   * @returns A rejection if a page opens a WebSocket with a sign-in that does not count; undefined
   *   without a sign-in.
   */
  private admitPage(
    handshakeRequest: HandshakeRequest,
    { tokens, duplicateTokens }: OfferedCredentials,
  ): Admission | Rejection | undefined {
    const { http } = this.options;
    const { request, isUpgrade, origin, path } = handshakeRequest;
    if (duplicateTokens !== undefined || !this.isOnDashboard(handshakeRequest)) return undefined;
    const hasToken = tokens.length > 0;
    const isForPages = !hasToken && (isUpgrade || pagePaths.has(path));
    const kinds = isForPages ? trustedIdentityKinds : hostIdentityKinds;
    const found = http.identityOf(request, kinds);
    if (!found) {
      if (hasToken) return undefined;
      const message = isUpgrade ? http.identityProblem(request) : undefined;
      return message === undefined ? undefined : { code: "sign_in_rejected", message };
    }
    const isProven = origin !== undefined && found.identity.origin === origin;
    if (!isProven && !isFromSameOrigin(handshakeRequest)) {
      if (hasToken) return undefined;
      const message = isUpgrade ? explainOrigin(handshakeRequest) : undefined;
      return message === undefined ? undefined : { code: "sign_in_rejected", message };
    }
    return this.toPersonAdmission(request, found, tokens);
  }

  /**
   * A host may know the token of a person. Browsers add no `Authorization: Bearer` by themselves,
   * so no page of another site can use the sign-in of its reader for it.
   */
  private admitBearer(
    { request }: HandshakeRequest,
    { tokens, duplicateTokens }: OfferedCredentials,
  ): Admission | undefined {
    const hasBearer = tokens.some((token) => token.method === "header" && "value" in token);
    if (!hasBearer || duplicateTokens !== undefined) return undefined;
    const found = this.options.http.identityOf(request, hostIdentityKinds);
    return found && this.toPersonAdmission(request, found, tokens);
  }

  private toPersonAdmission(
    request: HandshakeRequest["request"],
    { kind, identity }: NonNullable<ReturnType<Http["identityOf"]>>,
    tokens: OfferedCredentials["tokens"],
  ): Admission {
    const { http, log } = this.options;
    const kinds = new Set([kind]);
    const isCurrent = (): boolean => http.identityOf(request, kinds)?.identity.id === identity.id;
    const [first] = tokens;
    // Browsers require one of their subprotocols in the response.
    const echo = tokens.find((token) => "echo" in token && token.echo !== undefined) as
      | OfferedToken
      | undefined;
    return {
      method: first?.method ?? "dashboard",
      version: undefined,
      identity,
      ...toPerson(kind, identity, log),
      via: kind === "session" ? "dashboard" : "pico",
      echo: echo?.echo,
      isCurrent,
    };
  }

  private rejectDuplicates({ peer }: HandshakeRequest, duplicateTokens: string): Rejection {
    const verdict = this.options.limiter.recordFailure(peer.key, duplicateTokens);
    return {
      code: "bad_handshake",
      message: "Send the token at most once by each method.",
      ...(verdict.outcome === "mismatch" && { counted: verdict.counted }),
    };
  }

  private async compare(
    { peer }: HandshakeRequest,
    { tokens }: OfferedCredentials,
  ): Promise<Admission | Rejection> {
    const [first] = tokens;
    if (first === undefined) return { code: "token_missing" };
    const { method } = first;
    const code = "rejection" in first ? first.rejection : "token_mismatch";
    const distinct = distinctTokens(tokens);
    if (distinct.length === 0) {
      const isProtocol = code === "token_malformed" && method === "subprotocol";
      return { code, method, ...(isProtocol && { message: malformedProtocolMessage }) };
    }
    const verdict = await this.tryTokens(peer.key, distinct);
    if (verdict.outcome === "limited")
      return { code: "rate_limited", method, retryAfterSeconds: verdict.retryAfterSeconds };
    if (verdict.outcome === "mismatch")
      return { code, method, ...(!verdict.again && { counted: verdict.counted }) };
    return this.toAdmission(verdict.match);
  }

  /**
   * Tries the tokens in order. Each attempt contains the next one, so that the limiter does not
   * count the earlier tokens when a later one matches.
   */
  private async tryTokens(
    key: string,
    [first, ...rest]: readonly OfferedToken[],
  ): Promise<Verdict<OfferedMatch>> {
    const { limiter, tokens } = this.options;
    const token = first!;
    const verdict = await limiter.attempt<OfferedMatch>(key, token.value, async () => {
      const match = token.undecodable ? false : await tokens.match("pico", token.value);
      if (match !== false) return { token, ...match };
      if (rest.length === 0) return false;
      const next = await this.tryTokens(key, rest);
      return next.outcome === "match" ? next.match : false;
    });
    if (verdict.outcome !== "limited" || rest.length === 0) return verdict;
    const next = await this.tryTokens(key, rest);
    return next.outcome === "match" ? next : verdict;
  }

  /** A method of its own, so that the `isCurrent` closure of a connection holds no token. */
  private toAdmission({ version, person, token: { method, echo } }: OfferedMatch): Admission {
    const { tokens, log } = this.options;
    const isCurrent = (): boolean => tokens.info("pico").version === version;
    const holder = person ? toTokenPerson(person, log) : tokenHolder;
    return { ...holder, method, version, identity: undefined, via: "pico", echo, isCurrent };
  }
}
