import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { codeOf } from "../../../kernel/index.ts";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { KeyRing } from "../../../plugins/keys/key-ring.ts";
import { memoryKeys, type KeyStore, type StoredKey } from "../../../plugins/keys/index.ts";

const peer = { address: "10.1.2.3", key: "10.1.2.3", secure: false, host: "localhost" };
const day = 86_400_000;

interface RingOptions {
  readonly store?: KeyStore;
  readonly now?: number;
}

/** Creates a ring with a stopped clock. */
async function createRing({ store = memoryKeys(), now = 1_700_000_000_000 }: RingOptions = {}) {
  const clock = createStoppedClock();
  let ahead = now;
  let reads = 0;
  const wall = {
    ...clock,
    now: () => clock.now() + ahead,
    monotonic() {
      reads += 1;
      return clock.now();
    },
  };
  const hashed: string[] = [];
  const events: unknown[] = [];
  let seed = 0;
  const { log, lines } = createCapturedLog();
  const ring = new KeyRing({
    store,
    clock: wall,
    log,
    random: (bytes) => createHash("shake256", { outputLength: bytes }).update(`${seed++}`).digest(),
    after(ms, run) {
      const id = clock.setTimeout(run, ms);
      return () => clock.clearTimeout(id);
    },
    hash(secret) {
      hashed.push(secret);
      return createHash("sha256").update(secret).digest();
    },
    emit: (type, event) => void events.push([type, event]),
  });
  await ring.load();
  return {
    ring,
    store,
    hashed,
    events,
    lines,
    /** How often the monotonic clock was read. */
    reads: () => reads,
    increment: (ms: number) => clock.increment(ms),
    /** Sets the system clock, without any time passing. */
    setAhead: (ms: number) => void (ahead = now + ms),
    found(secret: string) {
      const found = ring.find(secret, peer);
      return typeof found === "object" ? found.id : found;
    },
  };
}

const wrong = (secret: string): string => `${secret.slice(0, 13)}${"A".repeat(43)}`;

describe("KeyRing", () => {
  test("stores a digest, and shows the secret once", async () => {
    const { ring, store, found } = await createRing();
    const { key, secret } = await ring.create({ name: "phone" });
    expect(secret).toMatch(/^dwk_[a-z2-7]{8}_[\w-]{43}$/);
    expect(found(secret)).toBe(key.id);
    const stored = JSON.stringify(await store.list());
    expect(stored).not.toContain(secret.slice(13));
    expect(JSON.stringify([key, ring.list()])).not.toMatch(/digest|previous/);
    expect(key).toMatchObject({
      name: "phone",
      scopes: ["read", "write"],
      sessions: "own",
      protocols: ["keys", "openai", "ai_sdk", "ag_ui"],
    });
  });

  test("takes the same steps for an unknown id and a wrong secret", async () => {
    const { ring, hashed, found } = await createRing();
    const { secret } = await ring.create({ name: "phone" });
    const unknown = `dwk_${"a".repeat(8)}_${"A".repeat(43)}`;
    for (const text of [wrong(secret), unknown]) {
      hashed.length = 0;
      expect(found(text)).toBeUndefined();
      expect(hashed).toEqual(["A".repeat(43)]);
    }
  });

  test.each(["", "dwk_", "dwk_k7f3q2ma_short", "token", "dwk_K7F3Q2MA_".padEnd(56, "A")])(
    "finds no key for %j, after one hash",
    async (text) => {
      const { ring, hashed, found } = await createRing();
      await ring.create({ name: "phone" });
      hashed.length = 0;
      expect(found(text)).toBeUndefined();
      expect(hashed).toHaveLength(1);
    },
  );

  test("expires at its instant, and ends its connections", async () => {
    const { ring, events, increment, found } = await createRing();
    const { secret, key } = await ring.create({ name: "phone", expiresInS: 90 });
    const identity = ring.find(secret, peer);
    const ended: string[] = [];
    if (typeof identity === "object") identity.onEnd((reason) => void ended.push(reason));
    increment(89_999);
    expect([found(secret), ended]).toEqual([key.id, []]);
    increment(1);
    expect([found(secret), ended]).toEqual(["expired", ["revoked"]]);
    expect(found(wrong(secret))).toBeUndefined();
    expect(events.at(-1)).toEqual(["keys:expired", { id: key.id, name: "phone" }]);
  });

  test("reports an end once, also after restarts", async () => {
    const store = memoryKeys();
    const first = await createRing({ store });
    await first.ring.create({ name: "phone", expiresInS: 90 });
    await first.ring.create({ name: "tablet", expiresInS: 9_000 });
    first.increment(90_000);
    await first.ring.stop();
    const expired = ({ events }: typeof first): unknown[] =>
      events.filter((event) => (event as [string])[0] === "keys:expired");
    expect(expired(first)).toHaveLength(1);
    const second = await createRing({ store, now: 1_700_000_100_000 });
    second.increment(60_000);
    await second.ring.stop();
    expect(expired(second)).toEqual([]);
    expect(second.ring.list()[0]).not.toHaveProperty("expiryReported");
    // This end came while nothing ran.
    const third = await createRing({ store, now: 1_700_000_000_000 + day });
    third.increment(0);
    expect(expired(third)).toMatchObject([["keys:expired", { name: "tablet" }]]);
    await third.ring.stop();
  });

  test("looks at one key for each request, whatever their number", async () => {
    const { ring, reads } = await createRing();
    let secret = "";
    for (let index = 0; index < 1_000; index += 1)
      ({ secret } = await ring.create({ name: `key-${index}`, expiresInS: 9_000 }));
    const before = reads();
    for (let index = 0; index < 100; index += 1) {
      const identity = ring.find(secret, peer);
      if (typeof identity !== "object") throw new Error("the key was not found");
      identity.onEnd(() => undefined)();
    }
    expect(reads() - before).toBeLessThan(100 * 20);
  });

  test("expires by the clock that is first", async () => {
    const { ring, setAhead, increment, found } = await createRing();
    const { secret, key } = await ring.create({ name: "phone", expiresInS: 90 });
    setAhead(-day);
    expect(found(secret)).toBe(key.id);
    increment(90_000);
    expect(found(secret)).toBe("expired");
    const other = await createRing();
    const { secret: second } = await other.ring.create({ name: "phone", expiresInS: 90 });
    const identity = other.ring.find(second, peer);
    let hasEnded = false;
    if (typeof identity === "object") identity.onEnd(() => (hasEnded = true));
    other.setAhead(90_000);
    expect(other.found(second)).toBe("expired");
    other.increment(1_000);
    expect(hasEnded).toBe(true);
  });

  test("keeps both secrets for the grace of a rotation", async () => {
    const { ring, increment, found } = await createRing();
    const { secret, key } = await ring.create({ name: "phone" });
    const ended: string[] = [];
    const open = ring.find(secret, peer);
    if (typeof open === "object") open.onEnd(() => void ended.push("old"));
    const { secret: next } = await ring.rotate("phone", 3_600);
    expect([found(secret), found(next)]).toEqual([key.id, key.id]);
    increment(3_599_999);
    expect([found(secret), ended]).toEqual([key.id, []]);
    increment(1);
    expect([found(secret), found(next), ended]).toEqual([undefined, key.id, ["old"]]);
    const last = await ring.rotate(key.id);
    expect([found(next), found(last.secret)]).toEqual([undefined, key.id]);
  });

  test("revokes a key by its name, and forgets its digests", async () => {
    const { ring, store, events, found } = await createRing();
    const { secret, key } = await ring.create({ name: "phone" });
    const identity = ring.find(secret, peer);
    let hasEnded = false;
    if (typeof identity === "object") identity.onEnd(() => (hasEnded = true));
    const revoked = await ring.revoke("phone");
    expect([revoked.revokedAt, hasEnded, found(secret)]).toEqual([
      1_700_000_000_000,
      true,
      undefined,
    ]);
    expect(ring.isInUse()).toBe(false);
    expect((await store.get(key.id))!.key).not.toHaveProperty("digest");
    expect(events).toContainEqual(["keys:revoked", { id: key.id, name: "phone" }]);
    await expect(ring.revoke("phone")).rejects.toMatchObject({ code: "unknown_key" });
    await expect(ring.rotate(key.id)).rejects.toMatchObject({ code: "unknown_key" });
    expect((await ring.create({ name: "phone" })).key.id).not.toBe(key.id);
  });

  test("notes the last use once a minute, with the network only", async () => {
    const { ring, store, events, increment, found } = await createRing();
    const { secret, key } = await ring.create({ name: "phone" });
    for (const ms of [0, 59_999, 1]) {
      increment(ms);
      found(secret);
    }
    await ring.stop();
    const { lastUsedAt, lastAddress } = (await store.get(key.id))!.key;
    expect([lastUsedAt, lastAddress]).toEqual([1_700_000_060_000, "10.1.2.0/24"]);
    expect(events.filter(([type]: any) => type === "keys:used-first")).toEqual([
      ["keys:used-first", { id: key.id, name: "phone", address: "10.1.2.0/24" }],
    ]);
    expect((await store.get(key.id))!.version).toBe(3);
  });

  test.each([
    ["name", { name: " " }],
    ["name", { name: "a\nb" }],
    ["scopes", { name: "a", scopes: [] }],
    ["scopes", { name: "a", scopes: ["owner"] }],
    ["sessions", { name: "a", sessions: [] }],
    ["sessions", { name: "a", sessions: "some" }],
    ["protocols", { name: "a", protocols: ["dashboard"] }],
    ["expiresInS", { name: "a", expiresInS: 0 }],
  ])("names the wrong field %s", async (field, input) => {
    const { ring } = await createRing();
    const error: unknown = await ring.create(input as never).catch((thrown: unknown) => thrown);
    expect([codeOf(error), String(error)]).toEqual(["invalid_key", expect.stringContaining(field)]);
  });

  test("rejects a second key with the same name", async () => {
    const { ring } = await createRing();
    await ring.create({ name: "phone" });
    await expect(ring.create({ name: "phone" })).rejects.toMatchObject({ code: "key_name_taken" });
  });

  test("removes the keys that were revoked first, beyond a thousand", async () => {
    const { ring, increment } = await createRing();
    const names = Array.from({ length: 1_000 }, (_, index) => `key ${index}`);
    for (const name of names) await ring.create({ name });
    await expect(ring.create({ name: "more" })).rejects.toMatchObject({ code: "too_many_keys" });
    const [first, second] = [
      await ring.revoke("key 5"),
      (increment(1), await ring.revoke("key 3")),
    ];
    await ring.create({ name: "more" });
    const ids = ring.list().map(({ id }) => id);
    expect([ids.includes(first.id), ids.includes(second.id)]).toEqual([false, true]);
  });

  test("learns of the changes of another node", async () => {
    const store = memoryKeys();
    const [here, there] = [await createRing({ store }), await createRing({ store })];
    store.watch((id) => void there.ring.changed(id));
    const { secret, key } = await here.ring.create({ name: "phone" });
    expect(there.found(secret)).toBe(key.id);
    const identity = there.ring.find(secret, peer);
    let hasEnded = false;
    if (typeof identity === "object") identity.onEnd(() => (hasEnded = true));
    await here.ring.revoke(key.id);
    expect([there.found(secret), hasEnded]).toEqual([undefined, true]);
    expect(there.events).toContainEqual(["keys:revoked", { id: key.id, name: "phone" }]);
  });

  test("says that a change is not stored, and keeps the key", async () => {
    const store = memoryKeys();
    let isAway = false;
    const broken: KeyStore = {
      ...store,
      put(key: StoredKey, version) {
        if (isAway) throw new Error("the disk is gone");
        return store.put(key, version);
      },
    };
    const { ring, found } = await createRing({ store: broken });
    const { secret, key } = await ring.create({ name: "phone" });
    isAway = true;
    await expect(ring.revoke("phone")).rejects.toMatchObject({ code: "keys_unavailable" });
    expect(found(secret)).toBe(key.id);
  });

  test("changes a key that another node changes at the same time", async () => {
    const store = memoryKeys();
    let isChanged = false;
    const busy: KeyStore = {
      ...store,
      async get(id) {
        const found = await store.get(id);
        if (found && !isChanged) {
          isChanged = true;
          await store.put({ ...found.key, lastUsedAt: 1 }, found.version);
        }
        return found;
      },
    };
    const { ring } = await createRing({ store: busy });
    const { key } = await ring.create({ name: "phone" });
    await ring.revoke("phone");
    expect((await store.get(key.id))!.key).toMatchObject({ lastUsedAt: 1, revokedAt: 1.7e12 });
  });
});
