import { lstat, stat } from "node:fs/promises";
import { request, type IncomingMessage } from "node:http";
import { dirname } from "node:path";
import { controlSocketPaths } from "../../config/control-socket.ts";
import { sanitizeLine } from "../client/text.ts";
import { exitCodes, printJson, type CommandContext } from "./command.ts";

export interface ControlResponse<T> {
  readonly status: number;
  readonly body: T;
}

const notRunningCodes = new Set(["ENOENT", "ECONNREFUSED", "ENOTSOCK"]);

/** A launcher puts its socket where nobody else can write. One that others could have made is not told any token. */
async function assertOwnSocket(socket: string): Promise<void> {
  const me = process.getuid?.();
  const folder = dirname(socket);
  const found = await stat(folder).catch(() => undefined);
  const isThere = await lstat(socket).then(
    () => true,
    () => false,
  );
  if (me === undefined || !found || !isThere) return; // nothing there, or no way in: the question will tell
  if (me !== 0 && found.uid !== me && found.uid !== 0) throw new Error(otherUserMessage);
  if ((found.mode & 0o022) === 0) return;
  const fix =
    "take it away, and let others not write there, or XDG_RUNTIME_DIR name a folder of your own";
  throw new Error(`${socket} is where others can write, too, and is not asked: ${fix}`);
}
const otherUserMessage = "the running launcher belongs to another user";

/** Asks the running launcher of this home; `undefined`: none runs. Rejects with a sentence when it cannot be asked. */
export async function askLauncher<T>(
  context: CommandContext,
  method: string,
  path: string,
  body?: unknown,
): Promise<ControlResponse<T> | undefined> {
  const { socket } = controlSocketPaths(context.home, context.env);
  if (socket === undefined) return undefined;
  await assertOwnSocket(socket);
  return new Promise((done, failed) => {
    const cut = (): void =>
      failed(new Error("the launcher gave no whole answer; it may be stopping"));
    const text = body === undefined ? "" : JSON.stringify(body);
    const length = Buffer.byteLength(text);
    const headers = {
      host: "localhost",
      "content-type": "application/json",
      "content-length": length,
    };
    const ask = request(
      { socketPath: socket, method, path: `/local/${path}`, headers, timeout: 60_000 },
      (answer) => {
        readJson<T>(answer).then(
          (parsed) => done({ status: answer.statusCode ?? 0, body: parsed }),
          cut,
        );
      },
    );
    ask.on("timeout", () => ask.destroy(new Error("the launcher does not answer")));
    ask.on("error", (error: NodeJS.ErrnoException) => {
      if (notRunningCodes.has(error.code ?? "")) done(undefined);
      else if (error.code === "ECONNRESET" || error.code === "EPIPE") cut();
      else if (error.code === "EACCES") failed(new Error(otherUserMessage));
      else failed(error);
    });
    ask.end(text);
  });
}

async function readJson<T>(answer: IncomingMessage): Promise<T> {
  let text = "";
  for await (const chunk of answer.setEncoding("utf8")) text += String(chunk);
  return JSON.parse(text) as T;
}

/** Says that no launcher runs, or that none can be asked; exit code 4. */
export function reportNotRunning(context: CommandContext): number {
  if (controlSocketPaths(context.home, context.env).socket === undefined) {
    const reason =
      "its socket would have too long a path; set XDG_RUNTIME_DIR for it and for this command";
    if (context.json)
      printJson(context, {
        error: "no_socket",
        message: `The launcher cannot be asked: ${reason}.`,
      });
    else context.say(`a launcher of ${context.home} cannot be asked: ${reason}\n`);
  } else if (context.json)
    printJson(context, { error: "not_running", message: "No launcher of this home is running." });
  else context.say(`no launcher of ${context.home} is running; start it with: doorward\n`);
  return exitCodes.unreachable;
}

/** Shows a launcher's refusal; exit code 1. */
export function reportRejected(context: CommandContext, body: unknown): number {
  const { message = "the launcher refused" } = body as { message?: string };
  if (context.json) printJson(context, body);
  else context.say(`doorward: ${sanitizeLine(message)}\n`);
  return exitCodes.failed;
}
