import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import type { Link } from "./connections.ts";
import type { PicoConnection } from "./service.ts";

type Known = Pick<PicoConnection, "session" | "address" | "method">;
interface Entry {
  readonly connection: Link;
  readonly known: Omit<PicoConnection, keyof ReturnType<Link["traffic"]>>;
}

const longest = 300;

/** Who is connected, for pages: names, where from, and what went over it. */
export function createRoster(clock: Clock) {
  const entries = new Map<string, Entry>();
  return {
    add(connection: Link, known: Known, { origin, "user-agent": userAgent }: IncomingHttpHeaders): void {
      entries.set(connection.id, {
        connection,
        known: {
          ...known,
          id: connection.id,
          since: clock.now(),
          ...(origin === undefined ? {} : { origin: origin.slice(0, longest) }),
          ...(userAgent === undefined ? {} : { userAgent: userAgent.slice(0, longest) }),
        },
      });
    },
    remove: (id: string): void => void entries.delete(id),
    list: (): PicoConnection[] =>
      [...entries.values()].map(({ connection, known }) => ({ ...known, ...connection.traffic() })),
    disconnect(id: string): boolean {
      entries.get(id)?.connection.close("forbidden");
      return entries.has(id);
    },
  };
}
