// The doctor check of a store that several nodes share, with a real server.
import { describe, expect, test, vi } from "vitest";
import { redisSecret } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { checks, type Options } from "../../support/doctor-harness.ts";
import { withHome } from "../../support/token-store-harness.ts";

describe.skipIf(!hasRedis)("the doctor check of Redis", () => {
  const run = async (
    url: string,
    secret = redisSecret,
    running?: Options["running"],
    more: Readonly<Record<string, string>> = {},
  ) => {
    let found: object | undefined;
    await withHome(async (home) => {
      const env = { SERVICE_STORE_KIND: "redis", SERVICE_STORE_URL: url, ...more };
      const all = await checks(home, {
        env: { ...env, SERVICE_STORE_SECRET: secret },
        ...(running && { running }),
      });
      found = all["conversation-store"];
    });
    return found;
  };

  test("names the version of a server that can be used", async () => {
    await using server = await startRedis(["--appendonly", "yes"]);
    expect(await run(server.url)).toMatchObject({
      result: "ok",
      reason: expect.stringMatching(/Redis \d/),
    });
  });

  test("warns of nodes with other settings of the channel", async () => {
    await using server = await startRedis(["--appendonly", "yes"]);
    const nodes = ["a", "b", "c"].map((name) => ({
      id: name,
      name,
      state: "up" as const,
      lastSeenAt: 0,
      isSelf: name === "a",
      sessions: 0,
      differs: name !== "a",
    }));
    const health = { since: 0, conversations: 0, waitingBytes: 0, searches: false, nodes };
    const store = { kind: "redis", state: "up", ...health } as const;
    expect(await run(server.url, redisSecret, { store })).toMatchObject({
      result: "warning",
      reason: "The settings of the channel differ on b, c.",
    });
  });

  test("warns of nodes that share no folder for files", async () => {
    await using server = await startRedis(["--appendonly", "yes"]);
    const nodes = ["a", "b"].map((name) => ({
      ...{ id: name, name, state: "up" as const, lastSeenAt: 0, sessions: 0, differs: false },
      isSelf: name === "a",
    }));
    const health = { since: 0, conversations: 0, waitingBytes: 0, searches: false, nodes };
    const running = { store: { kind: "redis", state: "up", ...health } as const };
    const shared = { SERVICE_MEDIA_PATH: "/media" };
    expect(await run(server.url, redisSecret, running)).toMatchObject({
      result: "warning",
      reason: expect.stringContaining("files"),
    });
    expect(await run(server.url, redisSecret, running, shared)).toMatchObject({ result: "ok" });
  });

  test("warns unless all replicas must confirm a message", async () => {
    await using server = await startRedis(["--appendonly", "yes"]);
    const replicaOf = ["--replicaof", `127.0.0.1 ${server.port}`];
    await using first = await startRedis(replicaOf);
    await using second = await startRedis(replicaOf);
    expect(first.port).not.toBe(second.port);
    await vi.waitFor(
      async () => expect(await server.ask("INFO replication")).toContain("connected_slaves:2"),
      10_000,
    );
    const check = (replicas: string) =>
      run(server.url, redisSecret, undefined, { SERVICE_STORE_REPLICAS: replicas });
    expect(await check("1")).toMatchObject({ result: "warning", fix: '"store.replicas": 2' });
    expect(await check("2")).toMatchObject({ result: "ok" });
    expect(await check("3")).toMatchObject({
      result: "warning",
      reason: "A message needs 3 replicas, and Redis has 2: clients wait.",
    });
    expect(await check("0")).toMatchObject({ result: "ok" });
  });

  test("warns of a server without an append-only file", async () => {
    await using server = await startRedis();
    expect(await run(server.url)).toMatchObject({ result: "warning" });
  });

  test.each([
    ["redis://127.0.0.1:1", redisSecret],
    ["redis://127.0.0.1:1", "short"],
  ])("reports a server that cannot be used at %s", async (url, secret) => {
    expect(await run(url, secret)).toMatchObject({ result: "failed" });
  });
});
