import { expect, describe, test } from "vitest";
import type { AnyPlugin } from "../../../../../kernel/index.ts";
import { channels, type Channels } from "../../../../../plugins/channels/index.ts";
import {
  conversations,
  type ConversationStore,
} from "../../../../../plugins/conversations/index.ts";
import { picoServer } from "../../../../../plugins/pico-server/index.ts";
import { withApi, type ApiClient } from "../../../../support/api-client.ts";
import { readExposition } from "../../../../support/prometheus-text.ts";
import { storeIn } from "../../../../support/sqlite-conversations.ts";
import { createFolder, Disk } from "../../../../support/sqlite-store.ts";

const listed = (store?: ConversationStore): AnyPlugin[] =>
  [
    conversations(store ? { store } : {}),
    channels(),
    picoServer({ enabled: false }),
  ] as unknown as AnyPlugin[];

const scrape = async ({ get, session }: ApiClient) =>
  readExposition(await (await get("/metrics", session)).text());

const say = ({ kernel }: ApiClient): Promise<unknown> =>
  (kernel.services as unknown as { channels: Channels }).channels
    .send({ channel: "pico", session: "s" }, { content: "hello" })
    .catch(() => undefined);

describe("GET /metrics with a store", () => {
  test("counts batches, and errors by code", async () => {
    const disk = new Disk();
    await withApi(
      async (office) => {
        await say(office);
        const before = await scrape(office);
        expect(before.get("store_conversations")).toBe(1);
        expect(before.get("store_up")).toBe(1);
        expect(before.get("store_commit_seconds_count")).toBeGreaterThan(0);
        expect(before.get('store_commit_seconds_bucket{le="+Inf"}')).toBe(
          before.get("store_commit_seconds_count"),
        );
        disk.code = 13;
        await say(office);
        const after = await scrape(office);
        expect(after.get('store_errors_total{code="store_unavailable"}')).toBe(1);
        expect(after.get("store_up")).toBe(0);
        const { body } = await office.ask("GET", "/api/status");
        expect(body.store).toMatchObject({ kind: "sqlite", state: "away", conversations: 1 });
      },
      { before: listed(storeIn(createFolder(), disk)) },
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
