/** Finds the identity of a request: a dashboard sign-in, or a session of the host. */
import type { IncomingMessage } from "node:http";
import type { Awaitable, Clock, Log } from "../../kernel/index.ts";
import type { HostIdentity, Http, Identity, Peer } from "./service.ts";

type IdentityResolver = (request: IncomingMessage, peer: Peer) => Identity | undefined;

/** Creates the registry of identity resolvers. Plugins such as the dashboard register theirs. */
export function createIdentities(
  peer: (request: IncomingMessage) => Peer,
): Pick<Http, "registerIdentity" | "identityOf"> {
  const kinds = new Map<string, IdentityResolver>();
  return {
    registerIdentity: (kind, find) => void kinds.set(kind, find),

    identityOf(request) {
      for (const [kind, find] of kinds) {
        const identity = find(request, peer(request));
        if (identity) return { kind, identity };
      }
      return undefined;
    },
  };
}

const hostCheckTimeoutMs = 5_000;

export interface HostIdentities {
  /** Runs the check of the host. Returns a promise only if the check does; it resolves after five
   *  seconds at the latest and never rejects. */
  ask(request: IncomingMessage): Promise<void> | undefined;
  find(request: IncomingMessage): Identity | undefined;
  /** Returns the identity only if it may use the dashboard. */
  findOwner(request: IncomingMessage): Identity | undefined;
}

/** Runs the session check of a host before the handler, and keeps its result per request. */
export function createHostIdentities(
  check: (request: IncomingMessage) => Awaitable<HostIdentity | undefined>,
  log: Log,
  clock: Clock,
): HostIdentities {
  const known = new WeakMap<IncomingMessage, Identity & { readonly owner?: boolean }>();

  function keep(request: IncomingMessage, found: HostIdentity | undefined): void {
    if (found) known.set(request, { onEnd: () => () => undefined, ...found });
  }
  function failed(error: unknown): void {
    log.error({ err: error }, "the host's session check failed: the request is unauthenticated");
  }

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

  return {
    find: (request) => known.get(request),
    findOwner(request) {
      const found = known.get(request);
      return found?.owner === true ? found : undefined;
    },
    ask(request) {
      try {
        const found = check(request);
        if (found instanceof Promise)
          return withTimeout(found)
            .then((late) => keep(request, late))
            .catch(failed);
        keep(request, found);
      } catch (error) {
        failed(error);
      }
      return undefined;
    },
  };
}
