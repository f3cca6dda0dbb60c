import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createKernel } from "../../../../kernel/index.ts";
import { conversations, sqlite } from "../../../../plugins/conversations/index.ts";
import { createFolder } from "../../../support/sqlite-store.ts";

describe("sqlite", () => {
  test("gives the plugin a durable store", async () => {
    const path = join(createFolder(), "conversations.db");
    const kernel = createKernel([conversations({ store: sqlite({ path }) })]);
    onTestFinished(() => kernel.stop());
    await kernel.start();
    const health = kernel.services.conversations.health();
    expect(health).toMatchObject({ kind: "sqlite", state: "up", path });
  });
});
