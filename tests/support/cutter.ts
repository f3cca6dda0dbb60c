// Forwards connections, and breaks them when the test says so.
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";

/** Forwards connections to the service until `cut` breaks them. */
export async function startCutter(base: string) {
  const { port: target } = new URL(base);
  const sockets = new Set<Socket>();
  const server = createServer((inbound) => {
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
    base: base.replace(`:${target}`, `:${(server.address() as AddressInfo).port}`),
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
    },
  };
}
