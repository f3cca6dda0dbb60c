import type { Release } from "../../kernel/index.ts";
import type { SessionLog } from "./session-log.ts";

const mostPerConnection = 64;

/** The sessions one connection hears: at most 64, the longest unused leaves. */
export interface Subscriptions {
  /** Hears the session from now on; hearing and naming it are uses. */
  use(session: string): void;
  close(): void;
}

export function createSubscriptions(log: SessionLog, send: (frame: Uint8Array) => void): Subscriptions {
  /** The longest unused comes first. */
  const heard = new Map<string, Release>();
  let open = true;

  function touch(session: string): boolean {
    const release = heard.get(session);
    if (!release) return false;
    heard.delete(session);
    heard.set(session, release);
    return true;
  }

  function leave(session: string): void {
    heard.get(session)?.();
    heard.delete(session);
  }

  return {
    use(session) {
      if (!open || touch(session)) return;
      heard.set(session, log.subscribe(session, ({ frame }) => {
        touch(session);
        send(frame);
      }));
      const [oldest] = heard.keys();
      if (heard.size > mostPerConnection && oldest !== undefined) leave(oldest);
    },
    close() {
      open = false;
      for (const session of [...heard.keys()]) leave(session);
    },
  };
}
