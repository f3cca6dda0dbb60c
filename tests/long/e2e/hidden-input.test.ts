// Tests hidden token input at a terminal.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { atTerminal, python, type Shown } from "../../e2e/terminal.ts";

const program = fileURLToPath(new URL("../../../dist/bin/doorward.js", import.meta.url));
const secret = "typed-by-hand-0123456789";
const first = "new launcher token (not shown): ";
const again = "repeat it: ";

/** Runs `doorward token set` at a terminal and returns the stored token. */
const tokenSet = (...steps: (readonly [string, string])[]) =>
  typing(steps, [process.execPath, program, "token", "set"]);

async function typing(
  steps: readonly (readonly [string, string])[],
  command: readonly string[],
): Promise<Shown & { stored: unknown }> {
  const home = await mkdtemp(join(tmpdir(), "doorward-terminal-"));
  try {
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      SERVICE_HOME: home,
      TERM: "xterm",
      LC_ALL: "C",
      PS1: "ready$ ",
    };
    const shown = await atTerminal(steps, command, env);
    const text = await readFile(join(home, "launcher-config.json"), "utf8").catch(() => "{}");
    return { ...shown, stored: (JSON.parse(text) as Record<string, unknown>)["launcher_token"] };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

describe.skipIf(!python)("doorward token set", () => {
  test("asks twice, hides the input and stores the token", async () => {
    const { screen, ...left } = await tokenSet([first, `${secret}\r`], [again, `${secret}\r`]);
    expect(left).toEqual({ code: 0, restored: true, stored: secret });
    expect(screen).toContain("the launcher token was stored in launcher-config.json");
    expect(screen).not.toContain("typed");
  });

  test("supports Backspace and asks again if the entries differ", async () => {
    const { screen, ...left } = await tokenSet(
      [first, `${secret}\r`],
      [again, "something else\r"],
      [first, `${secret}xx\u007f\u007f\r`],
      [again, `${secret}\r`],
    );
    expect(left).toEqual({ code: 0, restored: true, stored: secret });
    expect(screen).toContain("the entries differ");
    expect(screen).not.toMatch(/typed|something/);
  });

  test("asks again and hides input after fg resumes it", async () => {
    const shell = ["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"];
    const { screen, ...left } = await typing(
      [
        ["ready$ ", `"${process.execPath}" "${program}" token set\r`],
        [first, "\u001a"],
        ["Stopped", "fg\r"],
        [first, `${secret}\r`],
        [again, `${secret}\r`],
        ["was stored", ""],
        ["ready$ ", "exit $?\r"],
      ],
      shell,
    );
    expect(left).toMatchObject({ code: 0, stored: secret });
    expect(screen).not.toContain("typed");
  });

  test.each([
    ["Ctrl+C", "\u0003"],
    ["Ctrl+D", "\u0004"],
  ])("stores nothing and restores the terminal after %s", async (_, key) => {
    const early = await tokenSet([first, key]);
    expect(early).toMatchObject({ code: 1, restored: true, stored: undefined });
    expect(early.screen).toContain("nothing was changed");
    const late = await tokenSet(
      [first, `${secret}\r`],
      [again, `typ${key === "\u0004" ? "\u0015" : ""}${key}`],
    );
    expect(late).toMatchObject({ code: 1, restored: true, stored: undefined });
    expect(late.screen).not.toContain("typed");
  });
});
