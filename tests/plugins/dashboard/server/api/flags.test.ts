// Flags of conversations over the API, with records in a file and in Redis.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../../kernel/index.ts";
import { channels } from "../../../../../plugins/channels/index.ts";
import {
  conversations,
  type Conversations,
  type ConversationStore,
} from "../../../../../plugins/conversations/index.ts";
import { picoServer } from "../../../../../plugins/pico-server/index.ts";
import { records } from "../../../../../plugins/records/index.ts";
import { redis } from "../../../../../plugins/redis/index.ts";
import { withApi, type ApiClient } from "../../../../support/api-client.ts";
import { newHome } from "../../../../support/records.ts";
import { redisSecret } from "../../../../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../../../../support/redis-server.ts";
import { storeIn } from "../../../../support/sqlite-conversations.ts";
import { createFolder } from "../../../../support/sqlite-store.ts";

let server: RedisServer | undefined;
beforeAll(async () => {
  if (hasRedis) server = await startRedis();
});
afterAll(() => server?.stop());

const nothing = () => undefined;
const listeners = {
  onReceipt: nothing,
  sessionActive: nothing,
  sessionIdle: nothing,
  renewed: nothing,
};

const plugins = (store: ConversationStore, home?: string): AnyPlugin[] =>
  [
    conversations({ store }),
    records({ lockWaitMs: 0, ...(home !== undefined && { home }) }),
    channels(),
    picoServer({ enabled: false }),
  ] as unknown as AnyPlugin[];

const inFile = async (): Promise<() => AnyPlugin[]> => {
  const [folder, home] = [createFolder(), await newHome()];
  return () => plugins(storeIn(folder), home);
};

const forms: Readonly<Record<string, () => Promise<() => AnyPlugin[]>>> = {
  sqlite: inFile,
  ...(hasRedis && {
    redis: async () => {
      const prefix = randomUUID();
      return () => plugins(redis({ url: server!.url, prefix, secret: redisSecret }));
    },
  }),
};

const storeOf = ({ kernel }: ApiClient): Conversations =>
  (kernel as unknown as { services: { conversations: Conversations } }).services.conversations;

/** Writes a message of a person to each session. */
async function write(office: ApiClient, ...sessions: readonly string[]): Promise<void> {
  const log = storeOf(office).open("test", listeners);
  for (const session of sessions) {
    const frame = JSON.stringify({ type: "message.user", payload: { content: `In ${session}` } });
    const bytes = new TextEncoder().encode(frame);
    const entry = { type: "message.user", frame: bytes, numbered: true, final: true } as const;
    await log.append(session, { ...entry, message: randomUUID() });
  }
}

interface Listed {
  readonly id: string;
  readonly session: string;
  readonly preview?: string;
}

/** @returns The sessions of a list, with their flags. */
async function list(office: ApiClient, query = ""): Promise<Record<string, string>> {
  const { body } = await office.ask("GET", `/api/conversations?${query}`);
  const entries = (body.conversations as Listed[]).map(
    ({ session, ...one }) =>
      [session, ["pinned", "archived"].filter((flag) => flag in one).join()] as const,
  );
  return Object.fromEntries(entries);
}

async function idOf(office: ApiClient, session: string): Promise<string> {
  const found = await storeOf(office).find({ channel: "test", session });
  return found!.id;
}

const set = async (office: ApiClient, session: string, flags: object) => {
  const answer = await office.ask(
    "PATCH",
    `/api/conversations/${await idOf(office, session)}`,
    flags,
  );
  expect(answer.status).toBe(200);
  return answer.body.conversation as Listed;
};

describe.each(Object.entries(forms))("flags of conversations in %s", (form, create) => {
  test("stay after a restart, and are read page by page", async () => {
    const before = await create();
    await withApi(
      async (office) => {
        await write(office, "a", "b", "c");
        expect(await set(office, "a", { pinned: true })).toMatchObject({ pinned: true });
        await set(office, "b", { pinned: true });
        await set(office, "c", { archived: true });
        expect(await list(office)).toEqual({ a: "pinned", b: "pinned", c: "archived" });
      },
      { before: before() },
    );
    await withApi(
      async (office) => {
        expect(await list(office, "flag=archived")).toEqual({ c: "archived" });
        const query = "/api/conversations?flag=pinned&limit=1";
        const first = await office.ask("GET", query);
        const {
          before: cursor,
          conversations: [one],
        } = first.body;
        expect(one.preview).toBe(`In ${one.session}`);
        const next = await office.ask("GET", `${query}&before=${cursor}`);
        const found = [...first.body.conversations, ...next.body.conversations] as Listed[];
        expect(found.map(({ session }) => session).toSorted()).toEqual(["a", "b"]);
        expect(next.body.before).toBeUndefined();
        await set(office, "a", { pinned: false });
        expect(await list(office, "flag=pinned")).toEqual({ b: "pinned" });
      },
      { before: before() },
    );
  });

  test("end with a later use, and with the conversation", async () => {
    const before = await create();
    await withApi(
      async (office) => {
        await write(office, "a", "b");
        await set(office, "a", { pinned: true });
        const { pinned } = (await set(office, "a", { archived: true })) as { pinned?: true };
        expect(pinned).toBeUndefined();
        // A use that the person had not seen.
        await set(office, "b", { pinned: true });
        await set(office, "b", { archived: true, usedAt: 1 });
        expect(await list(office, "flag=archived")).toEqual({ a: "archived" });
        expect(await list(office, "flag=pinned")).toEqual({ b: "pinned" });
        await office.ask("DELETE", `/api/conversations/${await idOf(office, "b")}`);
        await write(office, "b");
        expect(await list(office)).toEqual({ a: "archived", b: "" });
        expect(await list(office, "flag=pinned")).toEqual({});
      },
      { before: before() },
    );
  });

  test.runIf(form === "redis")("reach the other nodes, where the last one wins", async () => {
    const before = await create();
    await withApi(
      async (office) => {
        await write(office, "a");
        await withApi(
          async (other) => {
            expect(await list(other)).toEqual({ a: "" });
            await set(office, "a", { pinned: true });
            await expect.poll(() => list(other, "flag=pinned")).toEqual({ a: "pinned" });
            await set(other, "a", { pinned: false });
            await expect.poll(() => list(office)).toEqual({ a: "" });
          },
          { before: before() },
        );
      },
      { before: before() },
    );
  });
});

describe("flags without a plugin that keeps them", () => {
  test("answer 404 and are not offered", async () => {
    const before = plugins(storeIn(createFolder())).filter(({ name }) => name !== "records");
    await withApi(
      async (office) => {
        await write(office, "a");
        const { body } = await office.ask("GET", "/api/conversations");
        expect(body.keepsFlags).toBeUndefined();
        const path = `/api/conversations/${await idOf(office, "a")}`;
        expect(await office.ask("PATCH", path, { pinned: true })).toMatchObject({ status: 404 });
        expect(await office.ask("PATCH", path, {})).toMatchObject({ status: 400 });
      },
      { before },
    );
  });
});
