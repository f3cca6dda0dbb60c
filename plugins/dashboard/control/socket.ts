import { chmod, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { connect } from "node:net";
import { dirname } from "node:path";
import { lockFile, createPrivateFolder } from "../../../lib/files/index.ts";
import type { Clock, Log } from "../../../kernel/index.ts";
import type { Http } from "../../http/index.ts";
import type { ControlSocketOptions } from "../service.ts";

/** The part of the door that the socket needs. */
interface ControlContext {
  readonly log: Log;
  readonly clock: Clock;
  readonly version: string;
  readonly http: Pick<Http, "addresses">;
}

const closeTimeoutMs = 1_000;
const isPipe = (path: string): boolean => path.startsWith("\\\\");

/** Opens the owner's socket and answers how to close it. Of several launchers with one home the first has it. Where it
 *  cannot be opened there is one warning: everything else works without it. */
export async function openControlSocket(
  door: ControlContext,
  local: ControlSocketOptions,
  listener: RequestListener,
): Promise<() => Promise<void>> {
  const server = createServer({ requestTimeout: 30_000 }, listener);
  try {
    if (!(await listenOrReplace(server, local.socket))) {
      door.log.warn({}, "another launcher uses this home: commands reach that one");
      return async () => undefined;
    }
    await writeNote(door, local);
  } catch (error) {
    door.log.warn({ reason: (error as Error).message }, "the socket for commands cannot be opened");
    server.close();
    return async () => undefined;
  }
  return async () => {
    // First: once the socket is gone, the next launcher may write its own.
    await rm(local.note, { force: true }).catch(() => undefined);
    const closed = new Promise<void>((done) => server.close(() => done())); // removes the socket
    server.closeIdleConnections();
    // A token that is being replaced is told to who asked for it.
    const cut = door.clock.setTimeout(() => server.closeAllConnections(), closeTimeoutMs);
    await closed;
    door.clock.clearTimeout(cut);
  };
}

/** Listens, in place of a dead process' socket. `false`: somebody else does. */
async function listenOrReplace(server: Server, path: string): Promise<boolean> {
  if (isPipe(path)) return listen(server, path).then(() => true, toFalseIfTaken);
  await createPrivateFolder(dirname(path));
  await restrictFolder(dirname(path));
  // Between the question and the answer to it another launcher must not begin to listen: it would lose its socket.
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

/** Until the socket has its own mode it is as open as the umask says: the folder is what guards it. One that belongs to
 *  all, as `XDG_RUNTIME_DIR` may name by mistake, is no place for it, and not ours to close. */
async function restrictFolder(folder: string): Promise<void> {
  const { mode, uid } = await stat(folder);
  const isShared =
    (mode & 0o1000) !== 0 || (process.getuid !== undefined && uid !== process.getuid());
  if (isShared)
    throw Object.assign(new Error(`${folder} is a folder of others too`), { code: "EACCES" });
  if ((mode & 0o077) !== 0) await chmod(folder, 0o700);
}

/** What connecting to a file says that nobody listens on, or that is not there. */
const deadCodes: ReadonlySet<string | undefined> = new Set(["ENOENT", "ECONNREFUSED", "ENOTSOCK"]);

/** Rejects when it cannot be told. */
function isAnswering(path: string): Promise<boolean> {
  return new Promise((done, failed) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      done(true);
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (deadCodes.has(error.code)) done(false);
      else if (error.code === "EAGAIN") done(true); // it is behind with accepting
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
  door: ControlContext,
  { note: path, pid }: ControlSocketOptions,
): Promise<void> {
  const facts = {
    pid,
    version: door.version,
    addresses: door.http.addresses().map(({ href }) => href),
  };
  await createPrivateFolder(dirname(path));
  await rm(path, { force: true });
  await writeFile(path, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
}
