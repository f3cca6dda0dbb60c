import type { IncomingMessage } from "node:http";
import type { Http, Identity, Peer } from "./service.ts";

type Find = (request: IncomingMessage, peer: Peer) => Identity | undefined;

/** Who a request belongs to, asked of whoever can tell: the dashboard knows its sign-ins. */
export function createIdentities(peer: (request: IncomingMessage) => Peer): Pick<Http, "identify" | "who"> {
  const kinds = new Map<string, Find>();
  return {
    identify: (kind, find) => void kinds.set(kind, find),

    who(request) {
      for (const [kind, find] of kinds) {
        const identity = find(request, peer(request));
        if (identity) return { kind, identity };
      }
      return undefined;
    },
  };
}
