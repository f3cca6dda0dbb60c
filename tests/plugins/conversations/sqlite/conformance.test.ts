import { describe, expect, onTestFinished, test } from "vitest";
import { join } from "node:path";
import { createKernel } from "../../../../kernel/index.ts";
import { conversations, sqlite } from "../../../../plugins/conversations/index.ts";
import { storedLogConformance } from "../../../conformance/stored-log.ts";
import { createFolder, openStorage } from "../../../support/sqlite-storage-harness.ts";

storedLogConformance(() => {
  const path = createFolder();
  return { open: () => openStorage({ path }), async [Symbol.asyncDispose]() {} };
});

describe("sqlite", () => {
  test("gives the plugin a durable store", async () => {
    const path = join(createFolder(), "conversations.db");
    const kernel = createKernel([conversations({ store: sqlite({ path }) })]);
    onTestFinished(() => kernel.stop());
    await kernel.start();
    expect(kernel.services.conversations.health()).toMatchObject({
      kind: "sqlite",
      state: "up",
      path,
    });
  });
});
