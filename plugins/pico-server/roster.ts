import type { IncomingHttpHeaders } from "node:http";
import type { Connections, Link } from "./connections.ts";
import { ownText } from "./own-text.ts";
import type { PicoConnection } from "./service.ts";

/** What does not change while somebody is connected. */
export interface Known extends Pick<PicoConnection, "session" | "address" | "method" | "since"> {
  readonly origin: string | undefined;
  readonly userAgent: string | undefined;
}

const longest = 300;
const cut = (text: string | undefined): string | undefined =>
  text !== undefined && text.length > longest ? ownText(text.slice(0, longest)) : text;

type Place = Pick<Known, "session" | "address" | "method">;

/** Key by key: of copied objects each one would have a shape of its own, larger than itself. */
export function knownOf(
  { session, address, method }: Place,
  { origin, "user-agent": userAgent }: IncomingHttpHeaders,
  since: number,
): Known {
  return { session, address, method, since, origin: cut(origin), userAgent: cut(userAgent) };
}

function shown(
  link: Link,
  { session, address, method, since, origin, userAgent }: Known,
): PicoConnection {
  const names = {
    ...(origin !== undefined && { origin }),
    ...(userAgent !== undefined && { userAgent }),
  };
  return { id: link.id, session, address, method, since, ...names, ...link.traffic() };
}

/** Who is connected, for pages: names, where from, and what went over it. */
export function createRoster(connections: Pick<Connections, "list" | "find">) {
  return {
    list: (): PicoConnection[] =>
      [...connections.list()].flatMap((link) => (link.known ? [shown(link, link.known)] : [])),
    disconnect(id: string): boolean {
      const link = connections.find(id);
      if (!link?.known) return false;
      link.close("forbidden");
      return true;
    },
  };
}
