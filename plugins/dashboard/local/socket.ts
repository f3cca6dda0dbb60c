import { chmod, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { connect } from "node:net";
import { dirname } from "node:path";
import type { Door } from "../door.ts";
import type { LocalControl } from "../service.ts";

const lastAnswersMs = 1_000;
const isPipe = (path: string): boolean => path.startsWith("\\\\");

/** Opens the owner's socket and answers how to close it. Where it cannot be opened there is one warning: everything
 *  else works without it. */
export async function openLocal(
  door: Door, local: LocalControl, listener: RequestListener,
): Promise<() => Promise<void>> {
  const server = createServer({ requestTimeout: 30_000 }, listener);
  try {
    if (!(await makeWay(local.socket))) {
      door.log.warn({}, "another launcher uses this home: commands reach that one");
      return async () => undefined;
    }
    await listen(server, local.socket);
    await note(door, local);
  } catch (error) {
    door.log.warn({ err: error }, "the socket for commands cannot be opened");
    server.close();
    return async () => undefined;
  }
  return async () => {
    const closed = new Promise<void>((done) => server.close(() => done())); // removes the socket
    server.closeIdleConnections();
    // A token that is being replaced is told to who asked for it.
    const cut = door.clock.setTimeout(() => server.closeAllConnections(), lastAnswersMs);
    await closed;
    door.clock.clearTimeout(cut);
    await rm(local.note, { force: true }).catch(() => undefined);
  };
}

/** Makes the folder and takes a dead process' socket away. `false`: somebody answers there. */
async function makeWay(path: string): Promise<boolean> {
  if (await answers(path)) return false;
  if (isPipe(path)) return true;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await narrow(dirname(path));
  await rm(path, { force: true });
  return true;
}

/** Until the socket has its own mode it is as open as the umask says: the folder is what guards it. One that belongs to
 *  all, as `XDG_RUNTIME_DIR` may name by mistake, is no place for it, and not ours to close. */
async function narrow(folder: string): Promise<void> {
  const { mode, uid } = await stat(folder);
  const isShared = (mode & 0o1000) !== 0 || (process.getuid !== undefined && uid !== process.getuid());
  if (isShared) throw Object.assign(new Error(`${folder} is a folder of others too`), { code: "EACCES" });
  if ((mode & 0o077) !== 0) await chmod(folder, 0o700);
}

export function answers(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path);
    const settle = (alive: boolean): void => {
      socket.destroy();
      done(alive);
    };
    socket.on("connect", () => settle(true));
    socket.on("error", () => settle(false));
  });
}

async function listen(server: Server, path: string): Promise<void> {
  await new Promise<void>((done, failed) => {
    server.once("error", failed);
    server.listen(path, () => {
      server.off("error", failed);
      done();
    });
  });
  if (!isPipe(path)) await chmod(path, 0o600);
}

async function note(door: Door, { note: path, pid }: LocalControl): Promise<void> {
  const facts = { pid, version: door.version, addresses: door.http.addresses().map(({ href }) => href) };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(path, { force: true });
  await writeFile(path, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
}

/** The JSON body of a request; `undefined` when there is none. Rejects over 64 KiB and for what is no JSON. */
export async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > 65_536) throw new SyntaxError("too large");
  }
  return text === "" ? undefined : JSON.parse(text);
}
