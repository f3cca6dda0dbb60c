// Tests the built client at a terminal.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startRemote, token, type Remote } from "../../support/pico-client-harness.ts";
import { awayFrom, startAtTerminal, type Running, type Variables } from "../../e2e/client.ts";
import { freePort } from "../../e2e/free-port.ts";
import { python } from "../../e2e/terminal.ts";

const place = awayFrom();

describe.skipIf(!python)("doorward client at a terminal", () => {
  const atTerminal = (args: readonly string[], env?: Variables): Promise<Running> =>
    startAtTerminal(place, args, env);

  test("prints replies above the input, keeps history, exits on Ctrl+D", async () => {
    let finish = (): void => {};
    const waits = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let answered = 0;
    await using there = await startRemote(async ({ content, stream }) => {
      const answer = stream();
      answer.write(`you said ${content}: one`);
      if (content === "first") await waits;
      answer.write(" two");
      await answer.end();
      answered += 1;
    });
    await using client = await atTerminal(["client", "-url", there.url]);
    await client.said(/connected/);
    client.child.stdin.write("first\r");
    await client.said(/you said first: one/);
    client.child.stdin.write("half");
    await client.said(/half/);
    finish();
    await client.said(/you said first: one two[^]*> half/);
    client.child.stdin.write("\u0015\u001b[A\r");
    await expect.poll(() => there.heard.map(({ content }) => content)).toEqual(["first", "first"]);
    await expect.poll(() => answered).toBe(2); // the client waits 2 s for pending messages
    client.child.stdin.write("\u0004");
    expect(await client.ended).toMatchObject({ code: 0 });
  });

  test("sends input typed before connecting and strips control characters", async () => {
    await using there = await startRemote(
      async ({ reply }) => void (await reply({ content: "a\u001b[31mred\u0007\u009b2Jz" })),
    );
    await using client = await atTerminal(["client", "-url", there.url]);
    client.child.stdin.write("typed ahead\r");
    await client.said(/a\ufffd\[31mred\ufffd\ufffd2Jz/);
    client.child.stdin.write("\u0003");
    const { code, out } = await client.ended;
    expect(code).toBe(0);
    for (const sign of ["\u0007", "\u009b", "\u001b[31m"]) expect(out).not.toContain(sign);
  });

  test("counts down a reconnect and waits after a rejection", async () => {
    const port = await freePort();
    let there: Remote = await startRemote(undefined, { port });
    await using client = await atTerminal(["client", "-url", there.url]);
    await client.said(/connected/);
    await there[Symbol.asyncDispose]();
    await client.said(/reconnecting in \d+ s/);
    there = await startRemote(undefined, { port });
    await client.said(/connected again/);
    await there[Symbol.asyncDispose]();

    const wrong = { SERVICE_CHANNELS_PICO_CLIENT_TOKEN: "not-the-right-token" };
    await using refused = await atTerminal(["client"], wrong);
    await refused.said(/token_mismatch[^]*Is the token the same/);
    refused.child.stdin.write("\u0003");
    expect(await refused.ended).toMatchObject({ code: 3 });
  });

  test("reconnects immediately when its token file changes", async () => {
    const file = join(place.folder, "token-of-mine");
    await writeFile(file, "not-the-right-token-not-the-right-token");
    await using client = await atTerminal(["client", "-token-file", file], {
      SERVICE_CHANNELS_PICO_CLIENT_TOKEN: "",
    });
    await client.said(/token_mismatch[^]*Is the token the same/);
    await writeFile(file, token);
    await client.said(/connected/);
  });
});
