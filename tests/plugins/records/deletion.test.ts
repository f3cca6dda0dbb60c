// Records that name a session go with its conversation.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { conversations, sqlite, type Conversations } from "../../../plugins/conversations/index.ts";
import type { Address } from "../../../plugins/channels/index.ts";
import { newHome, sharedNodes, startRecords, type StartedRecords } from "../../support/records.ts";
import { hasRedis, startRedis, type RedisServer } from "../../support/redis-server.ts";
import { openConversations } from "../../support/sqlite-conversations.ts";
import { createFolder } from "../../support/sqlite-store.ts";

let server: RedisServer | undefined;
beforeAll(async () => {
  if (hasRedis) server = await startRedis();
});
afterAll(() => server?.stop());

const one = { channel: "letters", session: "one" };
const two = { channel: "letters", session: "two" };

/** The service of a kernel whose list the compiler does not know. */
const storeOf = ({ kernel }: StartedRecords): Conversations =>
  (kernel.services as unknown as { conversations: Conversations }).conversations;

async function say(store: Conversations): Promise<void> {
  const letters = store.record("letters");
  for (const { session } of [one, two])
    await letters.turn({ ...one, session, id: "m1", content: "hello", media: [], at: 0, hops: 0 });
}

const forget = async (store: Conversations, address: Address): Promise<void> =>
  store.forget((await store.find(address))!.id);

const inFile = async (home: string): Promise<StartedRecords> =>
  startRecords({ home, store: conversations({ store: sqlite({ path: join(home, "c.db") }) }) });

describe("the deletion of a conversation", () => {
  const forms: Readonly<Record<string, () => Promise<StartedRecords>>> = {
    file: async () => inFile(await newHome()),
    ...(hasRedis && { redis: () => sharedNodes(server!)() }),
  };

  test.each(Object.entries(forms))("removes its records in the form %s", async (_, start) => {
    const started = await start();
    await say(storeOf(started));
    const agents = started.open<string>("agents");
    const heard: string[] = [];
    let told = (): void => undefined;
    agents.watch(({ key, record }) => {
      heard.push(`${key} ${record?.value}`);
      told();
    });
    await agents.put("a", "1", { session: one });
    await agents.put("b", "2", { session: two });
    await agents.put("moved", "3", { session: one });
    await agents.put("moved", "3", { session: two });
    await agents.put("global", "4");
    const isTold = new Promise<void>((resolve) => {
      told = () => void (heard.at(-1) === "a undefined" && resolve());
    });
    await forget(storeOf(started), one);
    expect((await agents.list()).map(({ key }) => key)).toEqual(["b", "global", "moved"]);
    await isTold;
  });

  test("removes records that no plugin has opened since the start", async () => {
    const home = await newHome();
    const first = await inFile(home);
    await say(storeOf(first));
    await first.open("agents").put("a", 1, { session: one });
    await first.stop();
    const second = await inFile(home);
    await forget(storeOf(second), one);
    expect(await second.open("agents").list()).toEqual([]);
  });

  test("removes what a stopped answer wrote in the meantime", async () => {
    const started = await inFile(await newHome());
    const store = storeOf(started);
    await say(store);
    const agents = started.open("agents");
    await agents.put("a", 1, { session: one });
    const late = new Promise<number>((resolve) => {
      store.watchDeletions!(() => {
        // Begins before the conversation is gone, and is stored after the records were removed.
        void agents.list().then(() => agents.put("late", 2, { session: one }).then(resolve));
        return () => undefined;
      });
    });
    await Promise.all([forget(store, one), late]);
    expect(await agents.list()).toEqual([]);
  });

  test("waits for the records of conversations that are too old", async () => {
    const { conversations: store, pass } = await openConversations(createFolder());
    await say(store);
    const seen: string[] = [];
    store.beforeDeletion(async (addresses) => {
      for (const address of addresses) {
        expect(await store.find(address)).toBeDefined();
        seen.push(address.session);
      }
    });
    for (let at = 0; at < 120; at++) await pass(24 * 3_600_000);
    await store.retain();
    expect(seen.toSorted()).toEqual(["one", "two"]);
    await store.close();
  });
});

describe.skipIf(!hasRedis)("a store that several nodes share", () => {
  test("has the same records on all nodes, and tells their changes", async () => {
    const start = sharedNodes(server!);
    const [here, there] = [await start(), await start()];
    const heard: unknown[] = [];
    const isTold = new Promise<void>((resolve) => {
      there.open<string>("keys").watch(({ key, record }) => {
        heard.push([key, record?.value]);
        if (record === undefined) resolve();
      });
    });
    await there.open("keys").list();
    const version = await here.open("keys").put("a", "1");
    expect((await there.open("keys").get("a"))!.version).toBe(version);
    await there.open("keys").remove("a", { version });
    await isTold;
    expect(heard.at(-1)).toEqual(["a", undefined]);
    expect(await here.open("keys").list()).toEqual([]);
  });

  test("seals records, so that the server cannot read the values", async () => {
    const start = sharedNodes(server!, "sealed");
    const { open } = await start();
    await open("keys").put("a", "s3cret");
    const stored = await server!.ask("HGETALL sealed:1:r:=owner.keys");
    expect(stored).toContain("a");
    expect(stored).not.toContain("s3cret");
    await server!.ask("HSET sealed:1:r:=owner.keys a broken");
    expect(await open("keys").list()).toEqual([]);
    await open("keys").put("a", "again", { version: 0 });
    expect((await open("keys").get("a"))!.value).toBe("again");
  });
});
