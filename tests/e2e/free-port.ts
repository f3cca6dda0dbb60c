import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const given = new Set<number>();

/**
 * Finds a port for a process that needs a fixed one. Returns ports below 32,768, since the system
 * assigns higher ones to other listeners and outgoing connections.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer();
    const isFree = await new Promise<boolean>((told) => {
      server.once("error", () => told(false)).listen(port, "127.0.0.1", () => told(true));
    });
    if (!isFree) continue;
    await new Promise((closed) => server.close(closed));
    return port;
  }
}
