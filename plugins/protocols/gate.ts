// Checks a request before its body is read: origin, limiter, token, rate, parallel requests.
import type { IncomingMessage } from "node:http";
import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import type { Http, Limiter } from "../http/index.ts";
import type { Keys } from "../keys/index.ts";
import { hostIdentityKinds } from "../pico-server/handshake/admission.ts";
import {
  toKeyHolder,
  toPerson,
  toTokenPerson,
  type Person,
} from "../pico-server/handshake/identity.ts";
import { isFromSameOrigin, isOriginAllowed } from "../pico-server/handshake/origins.ts";
import { createKeyedBuckets } from "../pico-server/connection/rate-limit.ts";
import type { Tokens } from "../token-store/index.ts";
import type { CommonConfig } from "./config.ts";
import { refuse, type Refusal } from "./errors.ts";
import { toClientName } from "./session.ts";

/** A client that may use the protocol: with the token, with a key, or as a person whom the host
 *  names. */
export interface Access extends Person {
  /** Set with the token or a key: false after it was replaced. */
  readonly isCurrent?: () => boolean;
  /** Set for a person or a key: aborts when the session or the key ends. */
  readonly ending?: AbortSignal;
  /** Set for a person or a key: call it when the request has ended. */
  readonly release?: Release;
}

interface PersonAccess extends Access {
  /** CORS headers of an allowed page. */
  readonly cors: Readonly<Record<string, string>>;
}

interface GateOptions {
  readonly http: Http;
  readonly tokens: Tokens;
  /** Undefined without the plugin `keys`. */
  readonly keys: Keys | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether pages of a host with its own session check need no token. */
  readonly admitsPages: boolean;
  /** Name of the token, also in the sender `token:NAME`. */
  readonly token: string;
  /** Name of a client for people. */
  readonly clientTitle: string;
  readonly config: () => CommonConfig;
}

const exposedHeaders =
  "x-doorward-session, x-doorward-ignored, x-request-id, retry-after, " +
  "accept-ranges, content-disposition, content-range, etag";
/** Headers that clients of the protocols send from pages. */
const allowedHeaders = new Set([
  "authorization",
  "content-type",
  "http-referer",
  "idempotency-key",
  "if-range",
  "openai-beta",
  "range",
  "x-conversation-id",
  "x-openwebui-chat-id",
  "x-title",
]);
const isAllowedHeader = (name: string): boolean =>
  allowedHeaders.has(name) || /^x-(?:doorward|stainless)-[a-z-]+$/.test(name);

const readAuthorizations = ({ rawHeaders }: IncomingMessage): readonly string[] =>
  rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === "authorization",
  );

const bearerPattern = /^bearer +(\S.*)$/i;

function readBearer(request: IncomingMessage): string | undefined {
  const found = readAuthorizations(request);
  if (found.length > 1) throw refuse("invalid_api_key", "Send the Authorization header only once.");
  const [, value] = bearerPattern.exec(found[0] ?? "") ?? [];
  return value === undefined ? undefined : Buffer.from(value, "latin1").toString("utf8").trim();
}

const tooMany = (message: string, seconds: number): Refusal =>
  refuse("rate_limited", message, { headers: { "Retry-After": String(seconds) } });

function wrongToken(message: string, challenge: string): Refusal {
  return refuse("invalid_api_key", message, { headers: { "WWW-Authenticate": challenge } });
}

/** The checks of one protocol. Each rejects with a `Refusal`. */
export class Gate {
  private readonly options: GateOptions;
  private readonly limiter: Limiter;
  private readonly isWithinRate: (key: string, now: number) => boolean;
  private inProgress = 0;

  constructor(options: GateOptions) {
    const { http, config } = options;
    this.options = options;
    this.limiter = http.limiter();
    this.isWithinRate = createKeyedBuckets(config);
  }

  /**
   * Returns the person if the host names one, and the request has a Bearer token or is from a page
   * of its origin. Checks the `Origin` header, too.
   */
  admitPerson(request: IncomingMessage): PersonAccess | undefined {
    const { http, log } = this.options;
    const [authorization = "", ...more] = readAuthorizations(request);
    const isPage = this.isOwnPage(request);
    // Browsers add no Bearer token by themselves, so a page of another site cannot use a sign-in.
    if (more.length > 0 || !(isPage || bearerPattern.test(authorization))) return undefined;
    const found = http.identityOf(request, hostIdentityKinds);
    if (!found) return undefined;
    const cors = isPage ? {} : this.cors(request);
    const { kind, identity } = found;
    http.markAuthenticated(request);
    const ending = new AbortController();
    const release = identity.onEnd(() => ending.abort());
    return { ...toPerson(kind, identity, log), cors, ending: ending.signal, release };
  }

  private isOwnPage(request: IncomingMessage): boolean {
    const { http, admitsPages } = this.options;
    if (!admitsPages || http.listener(request) !== "dashboard") return false;
    const { origin } = request.headers;
    return isFromSameOrigin({ request, peer: http.peer(request), origin, isUpgrade: false });
  }

  /** Checks the `Origin` header. Returns the headers that let an allowed page read the response. */
  cors(request: IncomingMessage): Readonly<Record<string, string>> {
    const { origin } = request.headers;
    if (origin === undefined) return {};
    if (!this.isAllowed(request, origin)) {
      const message = "Pages of this origin may not send requests. Add it to allow_origins.";
      throw refuse("origin_not_allowed", message);
    }
    return {
      "Access-Control-Allow-Origin": origin,
      "Access-Control-Expose-Headers": exposedHeaders,
      "Cross-Origin-Resource-Policy": "cross-origin",
      Vary: "Origin",
    };
  }

  /** Headers of the response to a preflight request of an allowed page. */
  preflight(request: IncomingMessage): Readonly<Record<string, string>> {
    const asked = (request.headers["access-control-request-headers"] ?? "").toLowerCase();
    const names = asked.split(",").map((name) => name.trim());
    return {
      "Access-Control-Allow-Methods": "DELETE, GET, HEAD, POST",
      "Access-Control-Allow-Headers": names.filter(isAllowedHeader).join(", "),
      "Access-Control-Max-Age": "600",
    };
  }

  /** Compares the token. */
  async authenticate(request: IncomingMessage): Promise<Access> {
    const { http, tokens, token, clientTitle, log } = this.options;
    const candidate = readBearer(request);
    if (candidate === undefined) {
      const message = "The request has no token. Send it as Authorization: Bearer TOKEN.";
      throw wrongToken(message, "Bearer");
    }
    if (this.isKey(candidate)) return this.admitKey(request, candidate);
    const verdict = await this.limiter
      .attempt(http.peer(request).key, candidate, () => tokens.match(token, candidate))
      .catch((error: unknown) => {
        if (codeOf(error) !== "store_unavailable") throw error;
        const message = "The token cannot be checked now. Try again shortly.";
        throw refuse("store_unavailable", message, { headers: { "Retry-After": "5" } });
      });
    if (verdict.outcome === "limited")
      throw tooMany("Too many wrong tokens.", verdict.retryAfterSeconds);
    if (verdict.outcome === "mismatch") {
      const message = `The token is wrong. This address needs the token "${token}".`;
      throw wrongToken(message, 'Bearer error="invalid_token"');
    }
    http.markAuthenticated(request);
    const { version, person } = verdict.match;
    const isCurrent = (): boolean => tokens.info(token).version === version;
    if (person) return { ...toTokenPerson(person, log), isCurrent };
    const sender = { id: `token:${token}`, name: toClientName(clientTitle, request) };
    return { sender, scope: undefined, owner: false, mayAnswer: true, isCurrent };
  }

  /** A text in the form of a key is not compared with the token, and counts for keys alone. */
  private isKey(candidate: string): boolean {
    const { keys } = this.options;
    return keys !== undefined && keys.isInUse() && keys.containsKey(candidate);
  }

  private async admitKey(request: IncomingMessage, candidate: string): Promise<Access> {
    const { http, keys, token, log } = this.options;
    const verdict = await keys!.admit(candidate, http.peer(request));
    if (verdict.outcome === "limited")
      throw tooMany("Too many wrong keys.", verdict.retryAfterSeconds);
    if (verdict.outcome !== "match") {
      const isExpired = verdict.outcome === "expired";
      const why = isExpired ? "has expired" : "is wrong, or it was revoked or replaced";
      throw wrongToken(`The key ${why}.`, 'Bearer error="invalid_token"');
    }
    const { identity } = verdict;
    if (!(identity.protocols as ReadonlySet<string>).has(token))
      throw refuse("not_allowed", `This key may not be used for the protocol "${token}".`);
    http.markAuthenticated(request);
    const ending = new AbortController();
    const release = identity.onEnd(() => ending.abort());
    const isCurrent = (): boolean => identity.isCurrent();
    return { ...toKeyHolder(identity, log), isCurrent, ending: ending.signal, release };
  }

  /** Counts the request, and rejects it if no further answer may begin. */
  checkRate(request: IncomingMessage): void {
    const { http, clock } = this.options;
    if (!this.isWithinRate(http.peer(request).key, clock.now()))
      throw tooMany("Too many requests. Send fewer.", 1);
    this.assertRoom();
  }

  /** Counts an answer. Call it when the body has arrived, and the result once at the end. */
  enter(): () => void {
    this.assertRoom();
    this.inProgress += 1;
    return () => void (this.inProgress -= 1);
  }

  private assertRoom(): void {
    if (this.inProgress >= this.options.config().max_requests)
      throw tooMany("Too many requests are in progress. Try again shortly.", 1);
  }

  private isAllowed(request: IncomingMessage, origin: string): boolean {
    const { http, config } = this.options;
    const patterns = config().allow_origins;
    const peer = http.peer(request);
    return patterns.length > 0 && isOriginAllowed(patterns, origin, { http, peer });
  }
}
