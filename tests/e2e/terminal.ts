import { execFile, spawn } from "node:child_process";
import { findTool } from "../support/tools.ts";

/** Undefined if there are no pseudo-terminals for tests. */
export const python = findTool("python");

/**
 * Runs a command at its own pseudo-terminal. Waits for each text, types the input for it, and
 * returns the screen content and whether the terminal modes were restored.
 */
const program = `
import json, os, pty, select, sys, termios, time
steps, command = json.loads(sys.argv[1]), sys.argv[2:]
owner, terminal = pty.openpty()
def modes():
    flags = termios.tcgetattr(terminal)[3]
    return bool(flags & termios.ECHO), bool(flags & termios.ICANON)
before = modes()
child = os.fork()
if child == 0:
    os.login_tty(terminal)
    os.execvp(command[0], command)
screen, mark, until = "", 0, time.time() + 50
def read():
    global screen
    if select.select([owner], [], [], 0.05)[0]: screen += os.read(owner, 4096).decode(errors="replace")
for wanted, typed in steps:
    while wanted not in screen[mark:] and time.time() < until: read()
    mark = screen.find(wanted, mark) + len(wanted)
    os.write(owner, typed.encode())
while True:
    read()
    ended, status = os.waitpid(child, os.WNOHANG)
    if ended: break
    if time.time() > until: os.kill(child, 9)
read()
code = os.waitstatus_to_exitcode(status)
print(json.dumps({"code": code, "screen": screen, "restored": modes() == before}))
`;

export interface Shown {
  readonly code: number;
  readonly screen: string;
  /** True if echo and line mode were restored. */
  readonly restored: boolean;
}

/** @param steps - Pairs of text to wait for and input to type. */
export function atTerminal(
  steps: readonly (readonly [shown: string, typed: string])[],
  command: readonly string[],
  env: Record<string, string>,
): Promise<Shown> {
  return new Promise((done, failed) => {
    const child = spawn(python!, ["-c", program, JSON.stringify(steps), ...command], { env });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (err += text));
    child.on("error", failed);
    child.on("close", (code) =>
      code === 0 ? done(JSON.parse(out) as Shown) : failed(new Error(err)),
    );
  });
}

/**
 * Runs a command at a pseudo-terminal and closes the terminal once it shows `wanted`. Sends a second
 * SIGHUP, as shells do, once the file `log` mentions the first.
 *
 * @returns The exit code, or a negative signal number.
 */
const closing = `
import os, pty, signal, sys, time
wanted, log, command = sys.argv[1], sys.argv[2], sys.argv[3:]
child, owner = pty.fork()
if child == 0: os.execvp(command[0], command)
screen = ""
while wanted not in screen: screen += os.read(owner, 4096).decode(errors="replace")
os.close(owner)
until = time.time() + 50
while "SIGHUP" not in open(log).read() and time.time() < until: time.sleep(0.01)
os.kill(child, signal.SIGHUP)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
`;

export function closeTerminal(
  wanted: string,
  log: string,
  command: readonly string[],
  env: Record<string, string>,
): Promise<number> {
  return new Promise((done, failed) => {
    execFile(
      python!,
      ["-c", closing, wanted, log, ...command],
      { env, timeout: 55_000 },
      (error, out) => {
        if (error) failed(error);
        else done(Number(out));
      },
    );
  });
}
