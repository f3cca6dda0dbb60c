import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { CommandContext } from "../../../bin/commands/index.ts";
import { readSecret } from "../../../bin/commands/prompt.ts";

/** Types each chunk in its own turn of the event loop. */
async function typed(
  ...chunks: readonly string[]
): Promise<{ secret: string | undefined; said: string }> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  let said = "";
  const read = readSecret(
    { stdin, say: (text: string) => (said += text) } as unknown as CommandContext,
    "token",
  );
  for (const chunk of chunks) {
    stdin.write(chunk);
    await new Promise((done) => setImmediate(done));
  }
  return { secret: await read, said };
}

test("accepts both lines in one chunk", async () => {
  expect((await typed("a-token\na-token\n")).secret).toBe("a-token");
  expect((await typed("a-token\n", "a-token\n")).secret).toBe("a-token");
});

test("returns undefined if the input ends after the first line", async () => {
  expect((await typed("a-token\n\u0004")).secret).toBeUndefined();
  expect((await typed("\u0003")).secret).toBeUndefined();
});

test("asks again if the lines differ", async () => {
  const { secret, said } = await typed("one\nother\nsame\nsame\n");
  expect([secret, said.includes("the entries differ")]).toEqual(["same", true]);
});
