// Tests how long connections outlive the revocation of their key.
import { describe, expect, test } from "vitest";
import { startKeys } from "../support/key-service.ts";
import { rounds } from "../support/runs.ts";

const connections = rounds(1_000);

describe("the revocation of a key", () => {
  test("closes all its connections", { timeout: 240_000 }, async () => {
    await using service = await startKeys({
      picoConfig: { max_connections: connections + 10 },
    });
    const ann = await service.client({ name: "ann" });
    const bob = await service.client({ name: "bob" });
    const other = await bob.connect();
    const opened = [];
    for (let index = 0; index < connections; index += 1)
      opened.push(await ann.connect(`/keys?session_id=s${index % 50}`));
    const began = performance.now();
    const worked = process.cpuUsage();
    const closings = opened.map(async ({ closed }) => {
      const { code, reason } = await closed;
      expect([code, reason]).toEqual([1008, "session_ended"]);
      return performance.now() - began;
    });
    await service.keys.revoke("ann");
    const times = (await Promise.all(closings)).toSorted((a, b) => a - b);
    const p99 = times[Math.ceil(times.length * 0.99) - 1]!;
    const { user, system } = process.cpuUsage(worked);
    const cpuMs = (user + system) / 1_000;
    console.log(
      `${connections} connections: p99 ${p99.toFixed(0)} ms after the revocation, ` +
        `${cpuMs.toFixed(0)} ms of processor time with the clients`,
    );
    await other.settled();
    expect(service.kernel.services.picoServer.connections()).toHaveLength(1);
    other.ws.terminate();
  });
});
