import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { CommandContext } from "./command.ts";

/** The first line of standard input, ends trimmed. At a terminal it is asked for twice and not shown; Ctrl+C and Ctrl+D
 *  call it off: `undefined`. */
export async function readSecret(
  { stdin, say }: CommandContext,
  name: string,
): Promise<string | undefined> {
  const atTerminal = stdin.isTTY;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Before the prompt: from here on the terminal shows nothing of what is typed.
  const lines = createInterface({
    input: stdin,
    output: silent,
    terminal: atTerminal,
    historySize: 0,
  });
  const next = createLineReader(lines);
  let question = "";
  // After Ctrl+Z and `fg`: readline waits to be asked on, and hides what is typed only once this listener is through.
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
      const first = await ask(`${name}, not shown: `);
      if (!first) return first;
      const second = await ask("once more: ");
      if (second === undefined || second === first) return second;
      say("the two are not the same\n");
    }
  } finally {
    lines.close();
  }
}

/** Answers line after line, ends trimmed, `undefined` from the end on. Lines that come in one piece, as when somebody
 *  pastes them, wait for who asks. */
function createLineReader(lines: Interface): () => Promise<string | undefined> {
  const waiting: string[] = [];
  let isClosed = false;
  const idle = (): void => undefined;
  let look = idle;
  lines.on("line", (text) => {
    waiting.push(text.trim());
    look();
  });
  lines.on("close", () => {
    isClosed = true;
    look();
  });
  return () =>
    new Promise((done) => {
      look = () => {
        if (waiting.length === 0 && !isClosed) return;
        look = idle;
        done(waiting.shift());
      };
      look();
    });
}
