import type { IncomingMessage } from "node:http";
import type { Awaitable, Clock, Log } from "../../kernel/index.ts";
import type { HostIdentity, Http, Identity, Peer } from "./service.ts";

type IdentityResolver = (request: IncomingMessage, peer: Peer) => Identity | undefined;

/** Who a request belongs to, asked of whoever can tell: the dashboard knows its sign-ins. */
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
  /** Answers a promise only while the host takes its time, five seconds at most. Never rejects. */
  ask(request: IncomingMessage): Promise<void> | undefined;
  find(request: IncomingMessage): Identity | undefined;
  /** Only one who may use the dashboard. */
  findOwner(request: IncomingMessage): Identity | undefined;
}

/** What a host's own check said, asked before anything of ours looks at the request. */
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
    log.error({ err: error }, "the host's session check failed: the request is nobody's");
  }

  async function inTime(
    found: Promise<HostIdentity | undefined>,
  ): Promise<HostIdentity | undefined> {
    let timer: unknown;
    const tooLong = new Promise<never>((_, reject) => {
      timer = clock.setTimeout(
        () => reject(new Error("no answer in 5 seconds")),
        hostCheckTimeoutMs,
      );
    });
    return Promise.race([found, tooLong]).finally(() => clock.clearTimeout(timer));
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
          return inTime(found)
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
