import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { Call } from "./command.ts";

/** The first line of standard input, ends trimmed. At a terminal it is asked for twice and not shown; Ctrl+C and Ctrl+D
 *  call it off: `undefined`. */
export async function readSecret({ stdin, say }: Call, name: string): Promise<string | undefined> {
  const atTerminal = stdin.isTTY;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Before the prompt: from here on the terminal shows nothing of what is typed.
  const lines = createInterface({ input: stdin, output: silent, terminal: atTerminal, historySize: 0 });
  try {
    if (!atTerminal) return (await nextLine(lines)) ?? "";
    for (;;) {
      say(`${name}, not shown: `);
      const first = await nextLine(lines);
      say("\n");
      if (!first) return first;
      say("once more: ");
      const second = await nextLine(lines);
      say("\n");
      if (second === undefined || second === first) return second;
      say("the two are not the same\n");
    }
  } finally {
    lines.close();
  }
}

function nextLine(lines: Interface): Promise<string | undefined> {
  return new Promise((done) => {
    const closed = (): void => done(undefined);
    lines.once("close", closed);
    lines.once("line", (text) => {
      lines.off("close", closed);
      done(text.trim());
    });
  });
}
