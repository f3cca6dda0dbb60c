import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChannelRule } from "../../testkit/index.ts";

/* Breaks one place of the Telegram example, and runs a rule of its test, which must fail. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const example = join(root, "examples", "channel-telegram");
let folder: string;

beforeAll(async () => {
  // A folder inside the package, so that `doorward/…` resolves to this package.
  folder = await mkdtemp(join(root, "dist", "mutations-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** @returns Whether the rule holds for the example, in which the text of a file is replaced. */
async function holds(
  name: string,
  rule: ChannelRule,
  file: string,
  from: string,
  to: string,
): Promise<boolean> {
  const own = join(folder, name);
  await cp(example, own, { recursive: true, filter: (path) => !path.endsWith("package.json") });
  const text = await readFile(join(own, file), "utf8");
  expect(text).toContain(from);
  await writeFile(join(own, file), text.replace(from, to));
  const pattern = `--test-name-pattern=^(Telegram channel )?${rule}$`;
  const args = ["--test", "--test-force-exit", "--test-reporter=tap", pattern];
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [...args, "channel-telegram.test.js"],
      { cwd: own },
      (error, output) => {
        const isFailed = output.includes("not ok") && output.includes(`- ${rule}`);
        if (error && !isFailed) reject(new Error(output));
        else resolve(!error);
      },
    );
  });
}

type Mutation = [name: string, rule: ChannelRule, file: string, from: string, to: string];

const mutations: Mutation[] = [
  [
    "repeats ids within a second",
    "delivers peer messages complete, once, with an id and a time",
    "index.js",
    "id: String(messageId),",
    "id: String(date),",
  ],
  [
    "takes messages of all users",
    "rejects peers without permission",
    "index.js",
    "if (!isAllowed(String(from.id))) return refuse(session);",
    "",
  ],
  [
    "logs the address with the token",
    "keeps tokens out of the log",
    "index.js",
    "const outbox = createOutbox(",
    "log.debug({ url: `${apiUrl}/bot${token.reveal()}` }, 'the bot'); const outbox = createOutbox(",
  ],
  [
    "removes the first part only",
    "shows long texts complete",
    "outbox.js",
    "known.map((messageId)",
    "known.slice(0, 1).map((messageId)",
  ],
  [
    "leaves parts of a longer text",
    "shows long texts complete",
    "outbox.js",
    "parts.length === 0 ? [] : known.slice(parts.length)",
    "[]",
  ],
  [
    "polls on after its stop",
    "leaves nothing open when it stops",
    "index.js",
    "return () => poller.stop();",
    "return () => {};",
  ],
];

describe("the Telegram example", () => {
  test.concurrent("keeps a rule without a mutation", async ({ expect }) => {
    const rule = "shows long texts complete";
    expect(await holds("correct", rule, "index.js", "", "")).toBe(true);
  });

  test.concurrent.each(mutations)("fails a rule if it %s", async (name, ...mutation) => {
    expect(await holds(name, ...mutation)).toBe(false);
  });
});
