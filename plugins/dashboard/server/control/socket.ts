/** Opens the control socket, on which the command line reaches this launcher. @module */
import { chmod, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { connect } from "node:net";
import { dirname } from "node:path";
import { createPrivateFolder, describeFailure, lockFile } from "../../../../lib/files/index.ts";
import type { Clock, Log } from "../../../../kernel/index.ts";
import type { Http } from "../../../http/index.ts";
import type { ControlSocketOptions } from "../service.ts";

/** Dependencies of the control socket. */
interface ControlContext {
  readonly log: Log;
  readonly clock: Clock;
  readonly version: string;
  readonly http: Pick<Http, "addresses">;
}

const closeTimeoutMs = 1_000;
const isPipe = (path: string): boolean => path.startsWith("\\\\");

/**
 * Opens the control socket. If several launchers use one home, the first one gets it. A failure is
 * logged as a warning, since everything else works without the socket.
 *
 * @returns Closes the socket.
 */
export async function openControlSocket(
  context: ControlContext,
  local: ControlSocketOptions,
  listener: RequestListener,
): Promise<() => Promise<void>> {
  const server = createServer({ requestTimeout: 30_000 }, listener);
  try {
    if (!(await listenOrReplace(server, local.socket))) {
      context.log.warn({}, "another launcher uses this home and receives the commands");
      return async () => undefined;
    }
    await writeNote(context, local);
  } catch (error) {
    const reason = describeFailure(error as Error);
    context.log.warn({ reason }, "the control socket cannot be opened");
    server.close();
    return async () => undefined;
  }
  return async () => {
    // Before the socket closes: after that, the next launcher may write its own note.
    await rm(local.note, { force: true }).catch(() => undefined);
    const closed = new Promise<void>((done) => server.close(() => done())); // removes the socket
    server.closeIdleConnections();
    // Responses in progress may carry a new token, so they get some time.
    const timer = context.clock.setTimeout(() => server.closeAllConnections(), closeTimeoutMs);
    await closed;
    context.clock.clearTimeout(timer);
  };
}

/**
 * Listens on `path` and replaces the socket of a dead process. Resolves false if another one
 * listens.
 */
async function listenOrReplace(server: Server, path: string): Promise<boolean> {
  if (isPipe(path)) return listen(server, path).then(() => true, toFalseIfTaken);
  await createPrivateFolder(dirname(path));
  await restrictFolder(dirname(path));
  // Without the lock, this process could remove the socket that another launcher has just opened.
  const lock = await lockFile(path);
  try {
    if (await isAnswering(path)) return false;
    await rm(path, { force: true });
    await listen(server, path);
    await chmod(path, 0o600);
    return true;
  } finally {
    await lock.release();
  }
}

function toFalseIfTaken(error: NodeJS.ErrnoException): false {
  if (error.code === "EADDRINUSE") return false;
  throw error;
}

/**
 * Restricts the folder to its owner. It protects the socket, whose mode follows the umask at first.
 *
 * @throws EACCES for a shared folder, which `XDG_RUNTIME_DIR` may name by mistake. Changing its
 * mode
 *   would lock out other users.
 */
async function restrictFolder(folder: string): Promise<void> {
  const { mode, uid } = await stat(folder);
  const isShared =
    (mode & 0o1000) !== 0 || (process.getuid !== undefined && uid !== process.getuid());
  if (isShared)
    throw Object.assign(new Error(`other users can write to ${folder}`), { code: "EACCES" });
  if ((mode & 0o077) !== 0) await chmod(folder, 0o700);
}

/** Errors of a connection attempt if no process listens, or if the file does not exist. */
const deadCodes: ReadonlySet<string | undefined> = new Set(["ENOENT", "ECONNREFUSED", "ENOTSOCK"]);

/** Resolves whether a process listens on `path`. Rejects if the error does not tell. */
function isAnswering(path: string): Promise<boolean> {
  return new Promise((done, failed) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      done(true);
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (deadCodes.has(error.code)) done(false);
      else if (error.code === "EAGAIN") done(true); // the process listens and its backlog is full
      else failed(error);
    });
  });
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((done, failed) => {
    server.once("error", failed);
    server.listen(path, () => {
      server.off("error", failed);
      done();
    });
  });
}

async function writeNote(
  context: ControlContext,
  { note: path, pid }: ControlSocketOptions,
): Promise<void> {
  const content = {
    pid,
    version: context.version,
    addresses: context.http.addresses().map(({ href }) => href),
  };
  await createPrivateFolder(dirname(path));
  await rm(path, { force: true });
  await writeFile(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
}
