// Networks between a page and a launcher: a proxy without Upgrade, and connections that break.
import { createServer, request as requestHttp, type Server } from "node:http";
import { connect, createServer as createRelay, type AddressInfo, type Socket } from "node:net";

/** A proxy that passes no `Upgrade`, as many do by default. */
export async function startPlainProxy(to: URL): Promise<Server> {
  const server = createServer((request, response) => {
    const { upgrade: _, connection: __, ...headers } = request.headers;
    const { method, url: path } = request;
    const { hostname, port } = to;
    const passed = requestHttp({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

/** Passes connections on, until they are cut. Then it accepts none until it resumes. */
export async function startRelay(to: URL) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createRelay((socket) => {
    if (isCut) return void socket.destroy();
    const other = connect(Number(to.port), "127.0.0.1");
    for (const [one, two] of [
      [socket, other],
      [other, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => undefined).on("close", () => two.destroy());
      one.pipe(two);
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    resume: () => void (isCut = false),
    async close() {
      cut();
      await new Promise((done) => server.close(done));
    },
  };
}
