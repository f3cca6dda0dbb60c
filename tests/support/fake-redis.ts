// A server that speaks as much of the Redis protocol as a node needs to reject it.
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";

/** @param info - The reply to INFO, a field for each name. */
export async function startFakeRedis(info: Readonly<Record<string, string>>) {
  const text = Object.entries(info)
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join("");
  const reply = `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      // Each command is an array whose first item is its name.
      for (const [, name] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g))
        socket.write(name!.toUpperCase() === "INFO" ? reply : "+OK\r\n");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
