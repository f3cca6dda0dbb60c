import { describe, expect, test } from "vitest";
import { createKernel, type Plugin } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { http } from "../../../plugins/http/index.ts";
import { keys } from "../../../plugins/keys/index.ts";
import { recordKeys } from "../../../plugins/keys/record-keys.ts";
import type { OpenRecords, Records } from "../../../plugins/records/index.ts";
import { records } from "../../../plugins/records/index.ts";
import type { StoredKey } from "../../../plugins/keys/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";
import { tempHome } from "../../support/dashboard-server.ts";

const start = async (home: string) => {
  const { log } = createCapturedLog();
  const kernel = createKernel(
    [tokenStore(memory({})), records({ home }), http({ port: 0 }), keys()],
    { log },
  );
  await kernel.start();
  return kernel;
};

describe("keys in records", () => {
  test("outlive the process, without their secrets", async () => {
    await using temp = await tempHome();
    const first = await start(temp.home);
    const { secret, key } = await first.services.keys.create({ name: "phone" });
    await first.services.keys.create({ name: "old" });
    await first.services.keys.revoke("old");
    await first.stop();
    const second = await start(temp.home);
    const peer = { address: "127.0.0.1", key: "127.0.0.1", secure: false, host: "localhost" };
    const verdict = await second.services.keys.admit(secret, peer);
    expect(verdict).toMatchObject({ outcome: "match", identity: { id: key.id } });
    expect(second.services.keys.list().map(({ name }) => name)).toEqual(["phone", "old"]);
    await second.stop();
  });

  test("have one version at a time, and tell of changes", async () => {
    let opened: Records<StoredKey> | undefined;
    const plugin: Plugin<{ needs: { records: OpenRecords } }> = {
      name: "opener",
      api: 1,
      needs: { records: true },
      start: ({ needs }) => void (opened = needs.records<StoredKey>("keys")),
    };
    const kernel = createKernel([records(), plugin], { log: createCapturedLog().log });
    await kernel.start();
    const store = recordKeys(opened!);
    const changed: unknown[] = [];
    store.watch((id) => void changed.push(id));
    const key = { id: "aaaaaaaa", name: "phone" } as StoredKey;
    const version = await store.put(key, undefined);
    expect(await store.put(key, undefined)).toBeUndefined();
    expect(await store.put({ ...key, name: "other" }, version)).toBeGreaterThan(version!);
    expect(await store.put(key, version)).toBeUndefined();
    expect((await store.get("aaaaaaaa"))?.key.name).toBe("other");
    await store.remove("aaaaaaaa");
    expect(await store.list()).toEqual([]);
    expect(changed).toContain("aaaaaaaa");
    await kernel.stop();
  });
});
