// Whole servers in one group: differences of their settings, and clients that move.
import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { useChannelNodes } from "../../support/redis-channel-server.ts";
import { hasRedis } from "../../support/redis-server.ts";

const { waitFor } = vi;
const { start } = useChannelNodes();

describe.skipIf(!hasRedis)("nodes with other settings", () => {
  test("appear as different to the others", async () => {
    const prefix = randomUUID();
    const a = await start({ prefix, node: "a", pico: { max_payload: 2_000_000 } });
    const b = await start({ prefix, node: "b" });
    await start({ prefix, node: "c" });
    const different = () =>
      b.services.conversations
        .health()
        .nodes?.filter(({ differs }) => differs)
        .map(({ name }) => name);
    const count = () => b.services.conversations.health().nodes;
    await waitFor(() => expect(count()).toHaveLength(3), 5_000);
    await waitFor(() => expect(different()).toEqual(["a"]), 5_000);
    expect(a.services.conversations.health().nodes).toContainEqual(
      expect.objectContaining({ name: "a", differs: false }),
    );
  });
});

describe.skipIf(!hasRedis)("a client that moves to another node", () => {
  test("ends its former connection there with 4409", async () => {
    const prefix = randomUUID();
    const [a, b] = [await start({ prefix, pico: { max_connections: 1 } }), await start({ prefix })];
    const former = await a.connect("/pico?session_id=s&pico_ext=1");
    const conn = String((await former.next()).payload?.["conn_id"]);
    const stranger = await b.connect(`/pico?session_id=s&pico_ext=1&conn=${"0".repeat(32)}`);
    await stranger.next();
    await expect(a.connect("/pico?session_id=s")).rejects.toThrow("503");
    const next = await b.connect(`/pico?session_id=s&pico_ext=1&conn=${conn}`);
    expect(await former.closed).toMatchObject({ code: 4409, reason: "replaced" });
    await next.next();
    await waitFor(() => expect(a.services.picoServer.connections()).toHaveLength(0));
    await (await a.connect("/pico?session_id=s&pico_ext=1")).next();
    expect(b.services.picoServer.connections()).toHaveLength(2);
  });
});
