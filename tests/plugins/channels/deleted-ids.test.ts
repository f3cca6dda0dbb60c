// Messages of deleted conversations that a client repeats after a restart.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { application, channels, type Application } from "../../../plugins/channels/index.ts";
import { conversations, type ConversationStore } from "../../../plugins/conversations/index.ts";
import { redis } from "../../../plugins/redis/index.ts";
import { redisSecret } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../../support/redis-server.ts";
import { createSampleChannel, gate } from "../../support/sample-channel.ts";
import { storeIn } from "../../support/sqlite-conversations.ts";
import { createFolder } from "../../support/sqlite-store.ts";

const address = { channel: "sample", session: "s" };
const codeOf = ({ code }: { code: string }): string => code;
const reply: Application = async (message) => {
  await message.reply({ content: `answer to ${message.id}` });
};

interface Started {
  /** Ids of the messages that reached the application. */
  readonly received: readonly string[];
  deliver(id: string, content?: string): Promise<string>;
  /** Deletes the conversation. */
  forget(): Promise<void>;
  /** The messages of persons in history. */
  turns(): Promise<readonly (string | undefined)[]>;
}

async function start(
  store: ConversationStore,
  use: (started: Started) => Promise<void>,
  handler: Application = reply,
): Promise<void> {
  const received: string[] = [];
  const { plugin, inlet, message } = createSampleChannel();
  const app = application((incoming, signal) => {
    received.push(incoming.id);
    return handler(incoming, signal);
  });
  await withKernel([conversations({ store }), channels(), plugin, app], async ({ kernel }) => {
    const service = kernel.services.conversations;
    await use({
      received,
      deliver: (id, content = id) =>
        inlet().deliver(message({ id, content }), { dedupe: true }).catch(codeOf),
      forget: async () => service.forget((await service.find(address))!.id),
      async turns() {
        const found = await service.find(address);
        if (!found) return [];
        const { items } = await service.read(found.id);
        return items.flatMap(({ role, content }) => (role === "user" ? [content] : []));
      },
    });
  });
}

/** @param create - Returns a function that opens the same store again. */
function check(create: () => () => ConversationStore): void {
  test("stay known after a restart, a deletion and another restart", async () => {
    const store = create();
    const done = gate();
    const handler: Application = async (message, signal) => {
      await reply(message, signal);
      if (message.id === "cut") await done.opened;
    };
    let cut: Promise<string> | undefined;
    const first = async ({ deliver, turns }: Started): Promise<void> => {
      expect(await deliver("accepted")).toBe("accepted");
      cut = deliver("cut");
      await expect.poll(turns).toEqual(["accepted", "cut"]);
    };
    await start(store(), first, handler);
    done.open();
    await cut;
    await start(store(), ({ forget }) => forget());
    await start(store(), async ({ deliver, received, turns }) => {
      const ids = ["accepted", "cut", "new"];
      const outcomes = await Promise.all(ids.map((id) => deliver(id)));
      expect(outcomes).toEqual(["stopped", "stopped", "accepted"]);
      expect(await deliver("accepted", "another text")).toBe("stopped");
      expect(received).toEqual(["new"]);
      expect(await turns()).toEqual(["new"]);
    });
  });

  test("stay known after two deletions", async () => {
    const store = create();
    await start(store(), async ({ deliver, forget }) => {
      expect(await deliver("one")).toBe("accepted");
      await forget();
      expect(await deliver("two")).toBe("accepted");
      await forget();
    });
    await start(store(), async ({ deliver, received }) => {
      expect(await Promise.all(["one", "two"].map((id) => deliver(id)))).toEqual([
        "stopped",
        "stopped",
      ]);
      expect(received).toEqual([]);
    });
  });

  test("stay known if they waited when the conversation was deleted", async () => {
    const store = create();
    const handler: Application = async (message, signal) => {
      await reply(message, signal);
      if (message.id === "running")
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
    };
    const use = async ({ deliver, forget, turns }: Started): Promise<void> => {
      const outcomes = ["running", "waiting"].map((id) => deliver(id));
      await expect.poll(turns).toEqual(["running"]);
      await forget();
      expect(await Promise.all(outcomes)).toEqual(["stopped", "stopped"]);
    };
    await start(store(), use, handler);
    await start(store(), async ({ deliver, received }) => {
      const outcomes = await Promise.all(["running", "waiting"].map((id) => deliver(id)));
      expect(outcomes).toEqual(["stopped", "stopped"]);
      expect(received).toEqual([]);
    });
  });

  test("leave later messages of the session as they are", async () => {
    const store = create();
    await start(store(), async ({ deliver, forget }) => {
      expect(await deliver("one")).toBe("accepted");
      await forget();
    });
    await start(store(), async ({ deliver, received }) => {
      const ids = Array.from({ length: 50 }, (_, index) => `m${index}`);
      const outcomes = await Promise.all(ids.map((id) => deliver(id)));
      expect(new Set(outcomes)).toEqual(new Set(["accepted"]));
      expect(await deliver("m7")).toBe("duplicate");
      expect(received).toEqual(ids);
    });
  });
}

describe("messages of a deleted conversation in SQLite", () => {
  check(() => {
    const folder = createFolder();
    return () => storeIn(folder);
  });
});

describe.skipIf(!hasRedis)("messages of a deleted conversation in Redis", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  check(() => {
    const prefix = randomUUID();
    return () => redis({ url: server.url, prefix, secret: redisSecret });
  });

  test("leave no id in the store", async () => {
    const prefix = randomUUID();
    const store = redis({ url: server.url, prefix, secret: redisSecret });
    await start(store, async ({ deliver, forget }) => {
      expect(await deliver("s3cret-id")).toBe("accepted");
      await forget();
      const kept = await server.ask(`ZRANGE ${prefix}:1:d 0 -1`);
      expect(kept).toMatch(/^\*1\r\n\$43\r\n[\w-]{43}\r\n$/);
    });
  });
});
