/** Finds the identity of a request: a dashboard sign-in, or a session of the host. */
import type { IncomingMessage } from "node:http";
import type { Awaitable, Clock } from "../../kernel/index.ts";
import { isPersonId, toPrintable } from "../../lib/util.ts";
import type { ClientFault } from "./log-limiter.ts";
import type { HostIdentity, Http, Identity, Peer, SessionAccess } from "./service.ts";

/** Kind of the people whom a host names without making them owners. */
const hostKind = "host";

interface IdentityResolver {
  readonly find: (request: IncomingMessage, peer: Peer) => Identity | undefined;
  readonly explain: ((request: IncomingMessage, peer: Peer) => string | undefined) | undefined;
}
type Identities = Pick<Http, "registerIdentity" | "identityOf" | "identityProblem">;

/** Creates the registry of identity resolvers. Plugins such as the dashboard register theirs. */
export function createIdentities(peer: (request: IncomingMessage) => Peer): Identities {
  const kinds = new Map<string, IdentityResolver>();
  return {
    registerIdentity(kind, find, explain) {
      if (kinds.has(kind))
        throw new TypeError(
          `registerIdentity(): the kind "${kind}" is registered already; choose another name`,
        );
      kinds.set(kind, { find, explain });
    },

    identityOf(request, wanted) {
      let ofHost: Identity | undefined;
      for (const [kind, { find }] of kinds) {
        if (wanted?.has(kind) === false) continue;
        const identity = find(request, peer(request));
        if (identity && kind !== hostKind) return { kind, identity };
        ofHost ??= identity;
      }
      return ofHost && { kind: hostKind, identity: ofHost };
    },

    identityProblem(request) {
      for (const { explain } of kinds.values()) {
        const problem = explain?.(request, peer(request));
        if (problem !== undefined) return problem;
      }
      return undefined;
    },
  };
}

const hostCheckTimeoutMs = 5_000;

interface HostPerson extends Identity {
  readonly owner: boolean;
}

function isSessionAccess(sessions: unknown): sessions is SessionAccess {
  if (Array.isArray(sessions)) return sessions.every((name) => typeof name === "string");
  return sessions === "own" || sessions === "all" || typeof sessions === "function";
}

/**
 * Copies and checks what the host returned: hosts in JavaScript have no type check.
 * @throws TypeError that names the wrong field. The request is then unauthenticated.
 */
function toPerson(
  { id, name, sessions, owner, onEnd }: HostIdentity,
  failed: (error: unknown) => void,
): HostPerson {
  if (!isPersonId(id))
    throw new TypeError(
      "identify() must return an id: 1 to 128 bytes without control characters, the same for " +
        "all devices of a person",
    );
  if (name !== undefined && typeof name !== "string")
    throw new TypeError("name of identify() must be a string, or absent");
  const isOwner = owner === true;
  const access = sessions === undefined ? (isOwner ? "all" : "own") : sessions;
  if (!isSessionAccess(access))
    throw new TypeError(
      'sessions of identify() must be "own", "all", a list of names or a function',
    );
  return {
    id,
    ...(name !== undefined && { name: toPrintable(name) }),
    sessions: typeof access === "function" ? guarded(access, failed) : access,
    owner: isOwner,
    onEnd: (ended) => onEnd?.(ended) ?? (() => undefined),
  };
}

/** A function that fails permits no session. */
const guarded =
  (mayUse: (session: string) => boolean, failed: (error: unknown) => void) =>
  (session: string): boolean => {
    try {
      return mayUse(session);
    } catch (error) {
      failed(error);
      return false;
    }
  };

/** @returns The sentence of an error in one line; its stack would repeat for each request. */
const toReason = (error: unknown): string =>
  String(error instanceof Error ? error.message : error)
    .slice(0, 300)
    .replace(/[\s\p{Cc}\p{Cs}]+/gu, " ")
    .trim();

interface HostOptions {
  readonly check: (request: IncomingMessage) => Awaitable<HostIdentity | undefined>;
  readonly peer: (request: IncomingMessage) => Peer;
  readonly note: (fault: ClientFault) => void;
  readonly clock: Clock;
}

/**
 * Registers the session check of a host, which runs before the handler. Its result is kept per
 * request.
 *
 * @returns A function that runs the check. It returns a promise only if the check does; it resolves
 *   after five seconds at the latest and never rejects.
 */
export function registerHost(
  { registerIdentity }: Identities,
  { check, peer, note, clock }: HostOptions,
): (request: IncomingMessage) => Promise<void> | undefined {
  const known = new WeakMap<IncomingMessage, HostPerson>();

  function keep(request: IncomingMessage, found: HostIdentity | undefined): void {
    if (found)
      known.set(
        request,
        toPerson(found, (error) => failed(request, error)),
      );
  }
  const failed = (request: IncomingMessage, error: unknown): void =>
    note({
      reason: "identify_failed",
      address: peer(request).address,
      text: "identify() of the host failed, so the request was rejected",
      fields: { why: toReason(error) },
    });

  async function withTimeout(
    found: Promise<HostIdentity | undefined>,
  ): Promise<HostIdentity | undefined> {
    let timer: unknown;
    const timeout = new Promise<never>((_, reject) => {
      timer = clock.setTimeout(
        () => reject(new Error("no result within 5 seconds")),
        hostCheckTimeoutMs,
      );
    });
    return Promise.race([found, timeout]).finally(() => clock.clearTimeout(timer));
  }

  registerIdentity("owner", (request) => {
    const found = known.get(request);
    return found?.owner ? found : undefined;
  });
  registerIdentity(hostKind, (request) => known.get(request));
  return (request) => {
    try {
      const found = check(request);
      if (found instanceof Promise)
        return withTimeout(found)
          .then((late) => keep(request, late))
          .catch((error: unknown) => failed(request, error));
      keep(request, found);
    } catch (error) {
      failed(request, error);
    }
    return undefined;
  };
}
