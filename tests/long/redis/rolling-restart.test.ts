// Restarts three nodes one after the other while clients send, as `npm run bench -- rolling` does
// with 15,000 clients.
import { describe, expect, test } from "vitest";
import { hasRedis } from "../../support/redis-server.ts";

interface Restarts {
  readonly rounds: readonly { readonly returned: number; readonly busiest: number }[];
  readonly sent: number;
  readonly lost: number;
  readonly repeated: number;
  readonly gaps: number;
}

const connections = 1_500;
const bench = new URL("../../../bench/workloads/rolling.mjs", import.meta.url).href;

describe.skipIf(!hasRedis)("a rolling restart of three nodes", () => {
  test("loses no reply, and clients return spread over seconds", async () => {
    const { restartNodes } = (await import(bench)) as {
      restartNodes(connections: number): Promise<Restarts>;
    };
    const { rounds, sent, lost, repeated, gaps } = await restartNodes(connections);
    console.log(JSON.stringify({ rounds, sent, lost, repeated, gaps }));
    expect(rounds).toHaveLength(3);
    expect(sent).toBeGreaterThan(500);
    expect({ lost, gaps }).toEqual({ lost: 0, gaps: 0 });
    // The application may receive a message again whose acceptance was not stored before the stop.
    expect(repeated).toBeLessThan(sent / 100);
    for (const { returned, busiest } of rounds) {
      expect(returned).toBeGreaterThan(connections / 4);
      expect(busiest).toBeLessThan(returned * 0.8);
    }
  }, 400_000);
});
