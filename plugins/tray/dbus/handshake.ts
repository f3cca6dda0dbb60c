import { connect, type Socket } from "node:net";

const maxLineBytes = 512;

/** A socket of the bus that has taken us for the user we are: the kernel tells it (EXTERNAL), no secret is sent. */
export async function openSocket(path: string, uid: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ path });
  try {
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      socket.once("connect", resolve).once("error", reject);
    });
    socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(uid)).toString("hex")}\r\n`);
    const answer = await readLine(socket, signal);
    if (!/^OK [0-9a-f]{32}$/i.test(answer)) throw new Error("the bus refuses this user");
    socket.write("BEGIN\r\n");
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The bus says nothing more before it is spoken to, so that nothing of what follows is lost. */
function readLine(socket: Socket, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const settle = (run: () => void): void => {
      socket.off("data", heard).off("error", reject).off("close", closed);
      run();
    };
    const heard = (bytes: Buffer): void => {
      text += bytes.toString("latin1");
      if (text.endsWith("\r\n")) settle(() => resolve(text.slice(0, -2)));
      else if (text.length > maxLineBytes)
        settle(() => reject(new Error("the bus answers with too long a line")));
    };
    const closed = (): void => settle(() => reject(new Error("the bus closes the connection")));
    socket.on("data", heard).once("error", reject).once("close", closed);
    signal.addEventListener("abort", () => settle(() => reject(signal.reason as Error)), {
      once: true,
    });
  });
}
