import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";

/**
 * Starts an HTTP proxy whose tunnels all lead to this machine.
 *
 * @param answer - Status to respond with instead of opening a tunnel.
 */
export async function createProxy(answer = 200) {
  const asked: { target: string; authorization: string | undefined }[] = [];
  const server = createServer().on("connect", (request, socket, head) => {
    asked.push({
      target: request.url ?? "",
      authorization: request.headers["proxy-authorization"],
    });
    socket.on("error", () => {});
    if (answer !== 200) return void socket.end(`HTTP/1.1 ${answer} No\r\n\r\n`);
    const [, port = ""] = (request.url ?? "").split(":");
    const out = connect(Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Yes\r\n\r\n");
      out.write(head);
      out.pipe(socket).pipe(out);
    });
    out.on("error", () => socket.destroy());
    socket.on("close", () => out.destroy());
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
