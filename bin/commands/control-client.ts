// Sends requests to the control socket of the running launcher.
import { lstat, stat } from "node:fs/promises";
import { request, type IncomingMessage } from "node:http";
import { dirname } from "node:path";
import type { Awaitable } from "../../kernel/index.ts";
import { controlSocketPaths } from "../../config/control-socket.ts";
import { sanitizeLine } from "../client/text.ts";
import { exitCodes, printJson, type CommandContext } from "./command.ts";

interface ControlResponse<T> {
  readonly status: number;
  readonly body: T;
}

const notRunningCodes = new Set(["ENOENT", "ECONNREFUSED", "ENOTSOCK"]);

/** A launcher creates its socket where no other user can write. A socket that another user could
 *  have created must not receive a token. */
async function assertOwnSocket(socket: string): Promise<void> {
  const me = process.getuid?.();
  const folder = dirname(socket);
  const found = await stat(folder).catch(() => undefined);
  const isThere = await lstat(socket).then(
    () => true,
    () => false,
  );
  if (me === undefined || !found || !isThere) return; // the request itself reports why
  if (me !== 0 && found.uid !== me && found.uid !== 0) throw new Error(otherUserMessage);
  if ((found.mode & 0o022) === 0) return;
  throw new Error(
    `Other users can write to the folder of ${socket}. Remove the socket and the write ` +
      "permission of others, or set XDG_RUNTIME_DIR to a folder of your own.",
  );
}
const otherUserMessage = "The running launcher belongs to another user.";

/**
 * Sends a request to the running launcher of this home.
 *
 * @returns Undefined if none runs.
 * @throws An error with a sentence for the user, if the launcher runs and cannot be reached.
 */
export const askLauncher = <T>(
  context: CommandContext,
  method: string,
  path: string,
  body?: unknown,
): Promise<ControlResponse<T> | undefined> =>
  requestLauncher<T>(context, { method, path, body, read: readJson });

type Question = readonly [method: string, path: string, body?: unknown];

/** Sends a request, and passes the body of its response to `use`. @returns The exit code. */
export async function askAndUse<T>(
  context: CommandContext,
  [method, path, body]: Question,
  use: (body: T) => Awaitable<number | void>,
): Promise<number> {
  const answer = await askLauncher<T>(context, method, path, body);
  if (!answer) return reportNotRunning(context);
  if (answer.status !== 200) return reportRejected(context, answer.body);
  return (await use(answer.body)) ?? exitCodes.done;
}

/** Sends a request and prints the response with `print`, or as JSON. */
export const askAndPrint = <T>(
  context: CommandContext,
  request: Question,
  print: (body: T) => void,
): Promise<number> =>
  askAndUse<T>(context, request, (body) => (context.json ? printJson(context, body) : print(body)));

/** Passes the text of a response with status 200 to `write`, as it arrives. */
export const streamLauncher = <T extends object>(
  context: CommandContext,
  path: string,
  write: (text: string) => void,
): Promise<ControlResponse<T> | undefined> =>
  requestLauncher<T>(context, {
    method: "GET",
    path,
    async read(response) {
      if (response.statusCode !== 200) return readJson(response);
      for await (const chunk of response.setEncoding("utf8")) write(String(chunk));
      return {} as T;
    },
  });

interface LauncherRequest<T> {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly read: (response: IncomingMessage) => Promise<T>;
}

async function requestLauncher<T>(
  context: CommandContext,
  { method, path, body, read }: LauncherRequest<T>,
): Promise<ControlResponse<T> | undefined> {
  const { socket } = controlSocketPaths(context.home, context.env);
  if (socket === undefined) return undefined;
  await assertOwnSocket(socket);
  return new Promise((done, failed) => {
    const cut = (): void =>
      failed(new Error("The response of the launcher is incomplete. It may be stopping."));
    const text = body === undefined ? "" : JSON.stringify(body);
    const length = Buffer.byteLength(text);
    const headers = {
      host: "localhost",
      "content-type": "application/json",
      "content-length": length,
    };
    const outgoing = request(
      { socketPath: socket, method, path: `/local/${path}`, headers, timeout: 60_000 },
      (response) => {
        read(response).then(
          (parsed) => done({ status: response.statusCode ?? 0, body: parsed }),
          cut,
        );
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error("The launcher does not respond.")));
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      if (notRunningCodes.has(error.code ?? "")) done(undefined);
      else if (error.code === "ECONNRESET" || error.code === "EPIPE") cut();
      else if (error.code === "EACCES") failed(new Error(otherUserMessage));
      else failed(error);
    });
    outgoing.end(text);
  });
}

async function readJson<T>(response: IncomingMessage): Promise<T> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
  return JSON.parse(text) as T;
}

/** Reports that no launcher runs, or that its socket path is too long. @returns Exit code 4. */
export function reportNotRunning(context: CommandContext): number {
  if (controlSocketPaths(context.home, context.env).socket === undefined) {
    const reason =
      "the path of its control socket is too long. Set XDG_RUNTIME_DIR for both processes";
    if (context.json)
      printJson(context, {
        error: "no_socket",
        message: `The launcher cannot be reached: ${reason}.`,
      });
    else context.say(`the launcher of ${context.home} cannot be reached: ${reason}\n`);
  } else if (context.json)
    printJson(context, { error: "not_running", message: "No launcher of this home is running." });
  else context.say(`no launcher of ${context.home} is running; start it with: doorward\n`);
  return exitCodes.unreachable;
}

/** Prints the error that the launcher sent. @returns Exit code 1. */
export function reportRejected(context: CommandContext, body: unknown): number {
  const { message = "the launcher rejected the request" } = body as { message?: string };
  if (context.json) printJson(context, body);
  else context.say(`doorward: ${sanitizeLine(message)}\n`);
  return exitCodes.failed;
}
