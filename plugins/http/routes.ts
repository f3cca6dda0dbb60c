import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { httpErrors } from "./errors.ts";
import type { Listener, RouteOptions } from "./service.ts";

export type RequestHandler = (request: IncomingMessage, answer: ServerResponse) => void;
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface Route<H> {
  readonly path: string;
  readonly handle: H;
  readonly options: RouteOptions;
}

/** The routes of one kind (requests, upgrades), apart for each listener. */
export interface RouteTable<H> {
  add(kind: string, path: string, handle: H, options: RouteOptions): void;
  exact(listener: Listener, path: string): Route<H> | undefined;
  /** The longest registered path that is the path or ends at one of its slashes. */
  longest(listener: Listener, path: string): Route<H> | undefined;
}

/** While `gatewayOpen` is false, routes of the gateway are served on the only listener, after that one's own. */
export function createRouteTable<H>(gatewayOpen: () => boolean): RouteTable<H> {
  const tables = { dashboard: new Map<string, Route<H>>(), gateway: new Map<string, Route<H>>() };

  function exact(listener: Listener, path: string): Route<H> | undefined {
    const own = tables[listener].get(path);
    return (
      own ?? (listener === "dashboard" && !gatewayOpen() ? tables.gateway.get(path) : undefined)
    );
  }

  return {
    exact,

    add(kind, path, handle, options) {
      const table = tables[options.listener ?? "dashboard"];
      if (table.has(path)) throw httpErrors.HTTP_ROUTE_TAKEN(kind, path);
      table.set(path, { path, handle, options });
    },

    longest(listener, path) {
      for (
        let prefix = path.replace(/\/$/, "");
        prefix !== "";
        prefix = prefix.slice(0, prefix.lastIndexOf("/"))
      ) {
        const route = exact(listener, prefix);
        if (route) return route;
      }
      return exact(listener, "/");
    },
  };
}
