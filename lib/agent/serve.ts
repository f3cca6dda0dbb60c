/** Connects a handler with Doorward, over standard input and output. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Program, type Line } from "./program.ts";
import type { AgentOptions, Handler, StatusFields } from "./types.ts";

const needed = ["stop", "append", "parts"];
let isServing = false;
/** Writes a line of the running agent. */
let writeLine: ((line: Line) => void) | undefined;
/** The status from before the start. */
let firstStatus: Line | undefined;

const canDo = (): readonly string[] => (process.env["DOORWARD_CAN"] ?? "").split(",");

/**
 * Sends the output of libraries to standard error, so that it does not reach Doorward.
 *
 * @returns The function that writes lines for Doorward.
 */
function takeOutput(): (line: Line) => void {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  return (line) => void write(`${JSON.stringify(line)}\n`);
}

/**
 * Runs the handler until Doorward closes the input, or ends the process.
 *
 * @throws Error if Doorward lacks what the program needs, or another agent runs in this process.
 */
export function serve(handler: Handler, options: AgentOptions): void {
  if (isServing) throw new Error("this process has an agent already: call agent() once");
  isServing = true;
  const has = canDo();
  const missing = [...needed, ...(options.can ?? [])].filter((name) => !has.includes(name));
  if (missing.length > 0) {
    const text = `This program needs a newer Doorward: this one has no ${missing.join(", ")}.`;
    process.stderr.write(`${text}\n`);
    process.exit(1);
  }
  const warn = (text: string): void => void process.stderr.write(`${text}\n`);
  const write = takeOutput();
  const program = new Program(handler, {
    ...options,
    write,
    warn,
    mediaFolder: process.env["DOORWARD_MEDIA"],
    stateFolder: process.env["DOORWARD_STATE"],
    prefix: randomBytes(8).toString("hex"),
    after: (ms, run) => void setTimeout(run, ms),
  });
  writeLine = write;
  if (firstStatus) write(firstStatus);
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
  lines.on("line", (text) => {
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch {
      return warn("a line of Doorward is not JSON; it is ignored");
    }
    program.receive(line);
  });
  const ended = once(lines, "close").then(() => {
    program.inputEnded();
    return program.idle();
  });
  const killed = once(process, "SIGTERM").then(() => program.end());
  // A handler may leave timers and sockets behind, which must not keep the process.
  void Promise.race([ended, killed]).then(() => process.exit(0));
}

/** Sends a message that answers none. @throws Error if no agent runs in this process. */
export function writeMessage(session: string, content: string, channel: string): void {
  if (!writeLine) throw new Error("no agent runs in this process: call send() from its handler");
  writeLine({ type: "message.create", channel, session_id: session, payload: { content } });
}

/** Writes the status, or keeps it until the agent starts. */
export function writeStatus(fields: StatusFields): void {
  if (!canDo().includes("status")) return;
  const line = { type: "status", payload: { ...fields } };
  if (writeLine) writeLine(line);
  else firstStatus = line;
}
