import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import type { Call } from "./command.ts";

/** The first line of standard input, ends trimmed. At a terminal it is asked for and not shown. */
export function readSecret({ stdin, say }: Call, prompt: string): Promise<string> {
  const { isTTY: atTerminal } = stdin;
  if (atTerminal) say(prompt);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: silent, terminal: atTerminal });
  return new Promise((done) => {
    let line = "";
    lines.once("line", (text) => {
      line = text;
      lines.close();
    });
    lines.once("close", () => {
      if (atTerminal) say("\n");
      done(line.trim());
    });
  });
}
