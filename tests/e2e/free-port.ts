import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const given = new Set<number>();

/** A port for somebody who must be told one, or come back to it. Systems give those from 32,768 on to whoever asks for
 *  any, connections too: none of these is gone before it is listened at. */
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
