import { expect, describe, test } from "vitest";
import type { AnyPlugin } from "../../../../kernel/index.ts";
import { channels, type Channels } from "../../../../plugins/channels/index.ts";
import { conversations } from "../../../../plugins/conversations/index.ts";
import type { ConversationStorage } from "../../../../plugins/conversations/stores/storage.ts";
import { picoServer } from "../../../../plugins/pico-server/index.ts";
import { withApi, type ApiClient } from "../../../support/api-client.ts";
import { readExposition } from "../../../support/prometheus-text.ts";
import { openStorage } from "../../../support/sqlite-storage-harness.ts";

const listed = (storage?: ConversationStorage): AnyPlugin[] =>
  [
    conversations(storage ? { store: () => storage } : {}),
    channels(),
    picoServer(),
  ] as unknown as AnyPlugin[];

const scrape = async ({ get, session }: ApiClient) =>
  readExposition(await (await get("/metrics", session)).text());

const say = ({ kernel }: ApiClient): Promise<unknown> =>
  (kernel.services as unknown as { channels: Channels }).channels
    .send({ channel: "pico", session: "s" }, { content: "hello" })
    .catch(() => undefined);

describe("GET /metrics with a store", () => {
  test("counts batches, and errors by code", async () => {
    const storage = await openStorage();
    let isFull = false;
    const faulty = new Proxy(storage, {
      get(target, name) {
        if (name === "commit" && isFull)
          return () => Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }));
        const value = Reflect.get(target, name) as unknown;
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    await withApi(
      async (office) => {
        await say(office);
        // The worker writes rows, which are counted, later than the batch.
        await expect.poll(async () => (await scrape(office)).get("store_conversations")).toBe(1);
        const before = await scrape(office);
        expect(before.get("store_up")).toBe(1);
        expect(before.get("store_commit_seconds_count")).toBeGreaterThan(0);
        expect(before.get('store_commit_seconds_bucket{le="+Inf"}')).toBe(
          before.get("store_commit_seconds_count"),
        );
        isFull = true;
        await say(office);
        const after = await scrape(office);
        expect(after.get('store_errors_total{code="store_unavailable"}')).toBe(1);
        const { body } = await office.ask("GET", "/api/status");
        expect(body.store).toMatchObject({ kind: "sqlite", state: "up", conversations: 1 });
      },
      { before: listed(faulty) },
    );
  });

  test("has no metrics of conversations in memory", () =>
    withApi(
      async (office) => {
        const names = [...(await scrape(office)).keys()];
        expect(names.filter((name) => name.startsWith("store_"))).toEqual([]);
        const { body } = await office.ask("GET", "/api/status");
        expect(body.store).toMatchObject({ kind: "memory" });
      },
      { before: listed() },
    ));
});
