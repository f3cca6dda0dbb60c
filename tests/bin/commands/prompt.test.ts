import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { CommandContext } from "../../../bin/commands/index.ts";
import { readSecret } from "../../../bin/commands/prompt.ts";

/** What is typed comes in pieces, as a terminal or somebody who pastes gives them. */
async function typed(
  ...pieces: readonly string[]
): Promise<{ secret: string | undefined; said: string }> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  let said = "";
  const read = readSecret(
    { stdin, say: (text: string) => (said += text) } as unknown as CommandContext,
    "token",
  );
  for (const piece of pieces) {
    stdin.write(piece);
    await new Promise((done) => setImmediate(done));
  }
  return { secret: await read, said };
}

test("both lines may come in one piece", async () => {
  expect((await typed("a-token\na-token\n")).secret).toBe("a-token");
  expect((await typed("a-token\n", "a-token\n")).secret).toBe("a-token");
});

test("the end of the input behind the first line calls it off", async () => {
  expect((await typed("a-token\n\u0004")).secret).toBeUndefined();
  expect((await typed("\u0003")).secret).toBeUndefined();
});

test("lines that differ are asked for again", async () => {
  const { secret, said } = await typed("one\nother\nsame\nsame\n");
  expect([secret, said.includes("the two are not the same")]).toEqual(["same", true]);
});
