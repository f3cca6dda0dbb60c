import type { IncomingHttpHeaders } from "node:http";
import type { ConnectionRegistry, Peer } from "./connections.ts";
import { detachString } from "./own-text.ts";
import type { PicoConnection } from "./service.ts";

/** What does not change while somebody is connected. */
export interface ConnectionInfo extends Pick<
  PicoConnection,
  "session" | "address" | "method" | "since"
> {
  readonly origin: string | undefined;
  readonly userAgent: string | undefined;
}

const maxHeaderLength = 300;
const truncate = (text: string | undefined): string | undefined =>
  text !== undefined && text.length > maxHeaderLength
    ? detachString(text.slice(0, maxHeaderLength))
    : text;

type ConnectionOrigin = Pick<ConnectionInfo, "session" | "address" | "method">;

/** Key by key: of copied objects each one would have a shape of its own, larger than itself. */
export function connectionInfo(
  { session, address, method }: ConnectionOrigin,
  { origin, "user-agent": userAgent }: IncomingHttpHeaders,
  since: number,
): ConnectionInfo {
  return {
    session,
    address,
    method,
    since,
    origin: truncate(origin),
    userAgent: truncate(userAgent),
  };
}

function toView(
  link: Peer,
  { session, address, method, since, origin, userAgent }: ConnectionInfo,
): PicoConnection {
  const names = {
    ...(origin !== undefined && { origin }),
    ...(userAgent !== undefined && { userAgent }),
  };
  return { id: link.id, session, address, method, since, ...names, ...link.traffic() };
}

/** Who is connected, for pages: names, where from, and what went over it. */
export function createConnectionList(connections: Pick<ConnectionRegistry, "list" | "find">) {
  return {
    list: (): PicoConnection[] =>
      [...connections.list()].flatMap((link) => (link.known ? [toView(link, link.known)] : [])),
    disconnect(id: string): boolean {
      const link = connections.find(id);
      if (!link?.known) return false;
      link.close("forbidden");
      return true;
    },
  };
}
