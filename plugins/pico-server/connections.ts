import type { Clock, Release } from "../../kernel/index.ts";
import type { CloseName } from "../pico-wire/index.ts";
import type { Connection } from "./connection.ts";

const tickMs = 1_000;

/** All connections, and the one timer that looks at them. */
export interface Connections {
  count(): number;
  add(connection: Connection): void;
  remove(connection: Connection): void;
  close(name: CloseName, which?: (connection: Connection) => boolean): void;
  /** Ends what an older token opened, spread over `graceS` seconds. */
  endBefore(version: number, graceS: number): void;
  /** Resolves when the last one is gone. */
  empty(): Promise<void>;
}

interface Owner {
  readonly clock: Clock;
  after(ms: number, run: () => void): Release;
  random(bytes: number): Uint8Array;
}

export function createConnections({ clock, after, random }: Owner): Connections {
  const all = new Set<Connection>();
  const waiters: (() => void)[] = [];
  let stopTicking: (() => void) | undefined;

  function tickLater(): void {
    const due = clock.now() + tickMs;
    stopTicking = after(tickMs, () => {
      tickLater();
      const late = Math.max(0, clock.now() - due - tickMs);
      for (const connection of [...all]) connection.tick(late);
    });
  }

  /** Between one and five seconds, so that all who were sent away do not come back at once. */
  function retryMs(): number {
    const [high = 0, low = 0] = random(2);
    return 1_000 + ((high * 256 + low) % 4_001);
  }

  return {
    count: () => all.size,
    add(connection) {
      all.add(connection);
      if (!stopTicking) tickLater();
    },
    remove(connection) {
      all.delete(connection);
      if (all.size > 0) return;
      stopTicking?.();
      stopTicking = undefined;
      waiters.splice(0).forEach((done) => done());
    },
    close(name, which = () => true) {
      for (const connection of [...all].filter(which)) connection.close(name);
    },
    endBefore(version, graceS) {
      const old = [...all].filter(({ tokenVersion = version }) => tokenVersion < version);
      old.forEach((connection, at) => {
        const end = (): void => connection.close("token_rotated", retryMs());
        if (graceS <= 0) end();
        else after(((at + 1) / old.length) * graceS * 1_000, end);
      });
    },
    empty: () => new Promise((done) => void (all.size === 0 ? done() : waiters.push(done))),
  };
}
