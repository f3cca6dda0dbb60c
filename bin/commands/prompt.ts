// Reads a secret from the terminal without echo, or from standard input.
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { CommandContext } from "./command.ts";

/**
 * Reads a secret: at a terminal twice and without echo, else the first line of standard input.
 *
 * @param isNew - False: a terminal asks once, because something else tells a slip.
 * @returns The trimmed secret, or undefined after Ctrl+C or Ctrl+D.
 */
export async function readSecret(
  { stdin, say }: CommandContext,
  name: string,
  isNew = true,
): Promise<string | undefined> {
  const atTerminal = stdin.isTTY;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Before the prompt: from here on the terminal does not echo.
  const lines = createInterface({
    input: stdin,
    output: silent,
    terminal: atTerminal,
    historySize: 0,
  });
  const next = createLineReader(lines);
  let question = "";
  // After Ctrl+Z and `fg`, readline needs resume(), and turns echo off only after this listener.
  lines.on("SIGCONT", () => {
    lines.resume();
    setImmediate(() => say(question));
  });
  async function ask(text: string): Promise<string | undefined> {
    question = text;
    say(question);
    const answer = await next();
    say("\n");
    return answer;
  }
  try {
    if (!atTerminal) return (await next()) ?? "";
    for (;;) {
      const first = await ask(`${name} (not shown): `);
      if (!first || !isNew) return first;
      const second = await ask("repeat it: ");
      if (second === undefined || second === first) return second;
      say("the entries differ\n");
    }
  } finally {
    lines.close();
  }
}

/** Returns a function that resolves with the next trimmed line, and with undefined after the end.
 *  Lines pasted together are queued. */
function createLineReader(lines: Interface): () => Promise<string | undefined> {
  const queued: string[] = [];
  let isClosed = false;
  const idle = (): void => undefined;
  let look = idle;
  lines.on("line", (text) => {
    queued.push(text.trim());
    look();
  });
  lines.on("close", () => {
    isClosed = true;
    look();
  });
  return () =>
    new Promise((done) => {
      look = () => {
        if (queued.length === 0 && !isClosed) return;
        look = idle;
        done(queued.shift());
      };
      look();
    });
}
