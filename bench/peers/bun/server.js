// A bare WebSocket server of Bun: parses JSON and publishes the reply to the session. It accepts every
// upgrade.
import { respond } from "../answer.mjs";

const { Bun } = /** @type {any} */ (globalThis);
let created = 0;

const server = Bun.serve({
  port: Number(process.argv[2]),
  hostname: "127.0.0.1",
  fetch(/** @type {Request} */ request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/collect") return collect();
    const session = searchParams.get("session_id") ?? `session-${(created += 1)}`;
    return server.upgrade(request, { data: session })
      ? undefined
      : new Response("Expected a WebSocket upgrade.", { status: 426 });
  },
  websocket: {
    perMessageDeflate: false,
    publishToSelf: true,
    open: (/** @type {any} */ socket) => socket.subscribe(socket.data),
    message(/** @type {any} */ socket, /** @type {string} */ text) {
      respond(JSON.parse(text), socket.data, (answer) =>
        server.publish(socket.data, JSON.stringify(answer)),
      );
    },
  },
});

function collect() {
  Bun.gc(true);
  return new Response("collected");
}
