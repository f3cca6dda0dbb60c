import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../../bin/commands/command.ts";
import { withCommandLine, type CommandLine } from "../../support/command-context.ts";
import { begin, entry, openStore, settleUpkeep } from "../../support/sqlite-store.ts";

const config = { launcher_token: "chosen-by-the-owner-0123456789-abcdefghijklm" };

/** C0 and C1 controls, and a direction override. */
const unsafe = "\u001b[31m\u009b31m\u202e";
const isUnsafe = /(?!\n)\p{Cc}|\u202e/u;

/** Starts a launcher whose store has one conversation. */
async function withHistory(
  visit: (ownership: CommandLine, id: string) => Promise<void>,
): Promise<void> {
  await withCommandLine(async (ownership) => {
    const store = await openStore({ folder: join(ownership.home, "state") });
    const id = await begin(
      store,
      entry("user", "q1", "Where is the blue teapot?"),
      entry("create", "a1", `In the ${unsafe}kitchen.`),
    );
    await settleUpkeep(store);
    await store.end();
    await ownership.write("launcher-config.json", config);
    await ownership.start();
    await visit(ownership, id);
  });
}

describe("doorward conversations", () => {
  test("lists, shows and finds conversations without control characters", () =>
    withHistory(async ({ run }, id) => {
      const list = await run("conversations list");
      expect([list.code, list.out]).toEqual([0, expect.stringMatching(`^${id}  used .* teapot`)]);
      expect((await run("conversations -json")).json()).toMatchObject({ conversations: [{ id }] });
      const { out } = await run(`conversations show ${id}`);
      expect(out).toContain("Where is the blue teapot?\n");
      expect(out).toContain("kitchen.\n");
      expect(out).not.toMatch(isUnsafe);
      const exported = await run(`conversations export ${id} -format markdown`);
      const authors = (text: string, pattern: RegExp) =>
        [...text.matchAll(pattern)].map(([, name]) => name);
      expect(authors(out, /^\d{4}-.*  (\w+)$/gm)).toEqual(["User", "Assistant"]);
      expect(authors(exported.out, /^## (\w+), /gm)).toEqual(["User", "Assistant"]);
      const page = await run(`conversations show ${id} -limit 1`);
      expect(page.out).not.toContain("  User\n");
      const [, more = ""] = /doorward (conversations show \S+ -before \S+)/.exec(page.said) ?? [];
      expect((await run(more)).out).toContain("  User\nWhere is the blue teapot?\n");
      expect((await run("conversations search blue teapot")).out).toContain(id);
      expect((await run("conversations search nothing")).said).toBe(
        "no message contains these words\n",
      );
    }));

  test("shows tool calls in one line each", async () => {
    await withCommandLine(async ({ home, write, start, run }) => {
      const store = await openStore({ folder: join(home, "state") });
      const call = { id: "c", function: { name: "clock", arguments: '{"zone":"UTC"}' } };
      const calls = [
        { ...call, result: "12:00\u001b[31m\n" },
        { ...call, error: "x".repeat(300) },
      ];
      const payload = { message_id: "t1", content: "", kind: "tool_calls", tool_calls: calls };
      const frame = Buffer.from(JSON.stringify({ type: "message.create", payload }));
      const id = await begin(store, entry("user", "q1", "now?"), {
        ...entry("create", "t1", ""),
        frame,
      });
      await store.end();
      await write("launcher-config.json", config);
      await start();
      const { out } = await run(`conversations show ${id}`);
      expect(out).toContain(
        'Assistant, tool calls\nclock({"zone":"UTC"})\n  → 12:00\ufffd[31m\n' +
          'clock({"zone":"UTC"})\n  → failed: xxx',
      );
      expect(out).toMatch(/^ {2}→ failed: x{191}…$/m);
    });
  });

  test("exports a conversation as JSON and Markdown", () =>
    withHistory(async ({ run }, id) => {
      const json = await run(`conversations export ${id}`);
      expect(json.json()).toMatchObject({
        conversation: { id },
        turns: [{ id: "q1" }, { content: `In the ${unsafe}kitchen.` }],
      });
      expect(json.out).not.toMatch(isUnsafe);
      const markdown = await run(`conversations export ${id} -format markdown`);
      expect(markdown.out).toContain("# Where is the blue teapot?");
      expect(markdown.out).not.toMatch(isUnsafe);
      await expect(run(`conversations export ${id} -format xml`)).rejects.toThrow(UsageError);
    }));

  test("deletes a conversation", () =>
    withHistory(async ({ run }, id) => {
      expect(await run(`conversations forget ${id}`)).toMatchObject({ code: 0, said: "deleted\n" });
      expect((await run("conversations list")).said).toBe("there are no conversations\n");
      for (const action of ["show", "export", "forget"])
        expect(await run(`conversations ${action} ${id}`)).toMatchObject({
          code: 1,
          said: expect.stringContaining("There is no conversation"),
        });
    }));

  test("names the parameter that the launcher rejects", () =>
    withHistory(async ({ run }) => {
      const { code, said } = await run("conversations list -limit 0");
      expect([code, said]).toEqual([1, expect.stringContaining('"limit"')]);
    }));

  test.each(["show", "show ../x", "show a b", "forget", "search", "list x", "other"])(
    "rejects the arguments %j",
    (words) =>
      withCommandLine(async ({ run }) => {
        await expect(run(`conversations ${words}`)).rejects.toThrow(UsageError);
      }),
  );

  test.each(["list", "show x", "search x", "export x", "forget x"])(
    "%s exits with code 4 without a launcher",
    (words) =>
      withCommandLine(async ({ run }) => {
        expect(await run(`conversations ${words}`)).toMatchObject({
          code: 4,
          said: expect.stringContaining("no launcher"),
        });
      }),
  );
});
