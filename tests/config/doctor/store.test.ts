import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runDoctor, type CheckView } from "../../../config/doctor/index.ts";
import { withHome } from "../../support/token-store-harness.ts";

async function check(home: string, env: Record<string, string> = {}): Promise<CheckView> {
  const found = await runDoctor({ home, env, now: Date.now() });
  return found.find(({ id }) => id === "conversation-store")!;
}

describe("conversation-store", () => {
  test("names the file that the first start creates", () =>
    withHome(async ({ path }) => {
      const { result, reason } = await check(path);
      expect([result, reason]).toEqual([
        "ok",
        `The first start creates ${join(path, "state", "conversations.db")}.`,
      ]);
    }));

  test.skipIf(process.platform === "win32")("warns if other users can read the file", () =>
    withHome(async ({ path }) => {
      const file = join(path, "state", "conversations.db");
      await mkdir(join(path, "state"), { recursive: true });
      await writeFile(file, "", { mode: 0o644 });
      expect(await check(path)).toMatchObject({ result: "warning", fix: `chmod 600 ${file}` });
      const other = await check(path, { SERVICE_STORE_PATH: "other.db" });
      expect(other.reason).toContain(join(path, "other.db"));
    }),
  );

  test.skipIf(process.platform === "win32").each([
    ["a folder", "state/conversations.db", "it is not a file"],
    ["text", "state/conversations.db", "it is not a SQLite database"],
    ["a folder", "state/conversations.db-wal", "conversations.db-wal is not a file"],
    ["a link to itself", "state/conversations.db", "its symbolic links form a loop"],
  ])("says that %s at %s cannot be the store", (kind, name, problem) =>
    withHome(async ({ path }) => {
      const file = join(path, name);
      await mkdir(join(path, "state"), { recursive: true });
      if (kind === "a folder") await mkdir(file);
      else if (kind === "text") await writeFile(file, "these are notes", { mode: 0o600 });
      else await symlink(file, file);
      expect(await check(path)).toMatchObject({
        result: "failed",
        reason: expect.stringContaining(problem) as string,
      });
    }),
  );

  test("explains that nothing is kept in memory", () =>
    withHome(async ({ path, write }) => {
      await write("config.json", JSON.stringify({ store: { kind: "memory" } }));
      expect(await check(path)).toMatchObject({
        result: "ok",
        reason: expect.stringContaining("nothing is kept") as string,
      });
    }));
});
