// Forwards connections, and breaks them when the test says so.
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";

/** Forwards connections to the service until `cut` or `block` breaks them. */
export async function startCutter(base: string) {
  const { port: first } = new URL(base);
  let target = first;
  let isBlocked = false;
  const sockets = new Set<Socket>();
  const server = createServer((inbound) => {
    if (isBlocked) return void inbound.on("error", () => undefined).destroy();
    const outbound = connect(Number(target), "127.0.0.1");
    for (const socket of [inbound, outbound]) {
      sockets.add(socket);
      socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
    }
    inbound.pipe(outbound).pipe(inbound);
    inbound.once("close", () => outbound.destroy());
    outbound.once("close", () => inbound.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    base: base.replace(`:${first}`, `:${(server.address() as AddressInfo).port}`),
    cut,
    /** Breaks all connections, and accepts no further ones until `heal`. */
    block() {
      isBlocked = true;
      cut();
    },
    heal: () => void (isBlocked = false),
    /** Breaks all connections. Later ones lead to another port. */
    retarget(port: number) {
      target = String(port);
      cut();
    },
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
    },
  };
}
