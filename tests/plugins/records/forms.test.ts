// Records in all forms: memory, a file, and Redis.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RecordChange } from "../../../plugins/records/index.ts";
import { newHome, sharedNodes, startRecords, type StartedRecords } from "../../support/records.ts";
import { hasRedis, startRedis, type RedisServer } from "../../support/redis-server.ts";

let server: RedisServer | undefined;
beforeAll(async () => {
  if (hasRedis) server = await startRedis();
});
afterAll(() => server?.stop());

const address = { channel: "pico", session: "s" };

const forms: Readonly<Record<string, () => Promise<StartedRecords>>> = {
  memory: () => startRecords(),
  file: async () => startRecords({ home: await newHome() }),
  ...(hasRedis && { redis: () => sharedNodes(server!)() }),
};

describe.each(Object.entries(forms))("records in the form %s", (_, start) => {
  test("returns a copy of what was stored, with its version", async () => {
    const { open } = await start();
    const guests = open<{ seen: number[] }>("guests");
    expect(await guests.get("anna")).toBeUndefined();
    const value = { seen: [1] };
    const version = await guests.put("anna", value, { session: address });
    value.seen.push(2);
    const stored = { key: "anna", value: { seen: [1] }, version, session: address };
    expect(await guests.get("anna")).toEqual(stored);
    (await guests.get("anna"))!.value.seen.push(3);
    expect(await guests.list()).toEqual([stored]);
  });

  test("lists by key, and those of one session", async () => {
    const { open } = await start();
    const all = open("all");
    await Promise.all(["b", "ä", "a"].map((key) => all.put(key, null)));
    await all.put("c", 1, { session: address });
    expect((await all.list()).map(({ key }) => key)).toEqual(["a", "b", "c", "ä"]);
    expect((await all.list(address)).map(({ key }) => key)).toEqual(["c"]);
    expect(await all.list({ channel: "other", session: "s" })).toEqual([]);
  });

  test("stores one of many puts with the same version", async () => {
    const { open } = await start();
    const counter = open<number>("counter");
    const tries = await Promise.allSettled(
      Array.from({ length: 20 }, (__, at) => counter.put("n", at, { version: 0 })),
    );
    const won = tries.filter(({ status }) => status === "fulfilled");
    expect(won).toHaveLength(1);
    const stored = await counter.get("n");
    expect(won[0]).toMatchObject({ value: stored!.version });
    const lost = tries.find((each) => each.status === "rejected")!;
    expect(lost.reason).toMatchObject({
      code: "record_conflict",
      details: { version: stored!.version },
    });
  });

  test("never uses a version again", async () => {
    const { open } = await start();
    const one = open<string>("one");
    const first = await one.put("k", "old");
    await one.remove("k");
    await one.remove("k");
    expect(await one.get("k")).toBeUndefined();
    const second = await one.put("k", "new", { version: 0 });
    expect(second).toBeGreaterThan(first);
    await expect(one.put("k", "late", { version: first })).rejects.toMatchObject({
      code: "record_conflict",
    });
    await expect(one.remove("k", { version: first })).rejects.toMatchObject({
      code: "record_conflict",
      details: { version: second },
    });
    expect((await one.get("k"))!.value).toBe("new");
  });

  test("tells listeners about changes of records, until they end", async () => {
    const { open } = await start();
    const one = open<string>("one");
    const heard: RecordChange<string>[] = [];
    const waiting: (() => void)[] = [];
    const end = one.watch((change) => {
      heard.push(change);
      waiting.splice(0).forEach((run) => run());
    });
    const until = async (count: number): Promise<void> => {
      while (heard.length < count) await new Promise<void>((run) => void waiting.push(run));
    };
    const version = await one.put("k", "a");
    await until(1);
    await one.remove("k");
    await until(2);
    expect(heard).toEqual([{ key: "k", record: { key: "k", value: "a", version } }, { key: "k" }]);
    end();
    const others: string[] = [];
    one.watch(({ key }) => {
      others.push(key);
      waiting.splice(0).forEach((run) => run());
    });
    const told = new Promise<void>((run) => void waiting.push(run));
    await one.put("later", "b");
    await told;
    expect(heard).toHaveLength(2);
    expect(others).toEqual(["later"]);
  });

  test.each([
    ["an empty key", "", 1, {}],
    ["a key with a line break", "a\nb", 1, {}],
    ["a long key", "k".repeat(257), 1, {}],
    ["half a character", "\ud800", 1, {}],
    ["no value", "k", undefined, {}],
    ["a value that JSON lacks", "k", 1n, {}],
    ["a large value", "k", "s3cret".repeat(11_000), {}],
    ["a wrong version", "k", 1, { version: -1 }],
    ["a wrong session", "k", 1, { session: { channel: "pico" } as never }],
  ])("refuses %s, and names the field", async (__, key, value, options) => {
    const { open } = await start();
    const one = open("one");
    const refused = one.put(key, value, options);
    await expect(refused).rejects.toMatchObject({ code: "record_invalid" });
    await expect(refused).rejects.not.toThrow(/s3cret/);
    expect(await one.list()).toEqual([]);
  });

  test("rejects more than 8 MiB, and has room after a removal", async () => {
    const { open } = await start();
    const one = open<string>("large");
    const value = "x".repeat(65_000);
    let count = 0;
    const fill = async (): Promise<unknown> => {
      for (; count < 300; count += 16) {
        const keys = Array.from({ length: 16 }, (__, at) => `k${count + at}`);
        await Promise.all(keys.map((key) => one.put(key, value)));
      }
      return undefined;
    };
    await expect(fill()).rejects.toMatchObject({ code: "records_full" });
    const before = (await one.list()).length;
    expect(before).toBeGreaterThan(120);
    await one.put("k0", "small");
    await one.remove("k1");
    await one.put("new", value);
    expect(await one.list()).toHaveLength(before);
  });

  test("keeps the names of plugins and the host apart", async () => {
    const { open, kernel } = await start();
    await open("shared").put("k", "plugin");
    const host = kernel.services.records<string>("shared");
    expect(await host.get("k")).toBeUndefined();
    await host.put("k", "host");
    expect((await open("shared").get("k"))!.value).toBe("plugin");
    expect(() => open("../up")).toThrow(expect.objectContaining({ code: "record_invalid" }));
  });
});
