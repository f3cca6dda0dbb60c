import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

const queues = new WeakMap<Duplex, Set<ServerResponse>>();

/** For an answer that waits behind another one of its connection, as clients that pipeline get them. Node 20, 22 and
 *  the first of 24 tell it nothing when the connection ends: whoever waits for its "close" would wait for ever. */
export function closeWithConnection({ socket }: IncomingMessage, answer: ServerResponse): void {
  if (answer.socket) return;
  const queue = queues.get(socket) ?? queueOf(socket);
  queue.add(answer);
  answer.once("close", () => queue.delete(answer));
}

function queueOf(socket: Duplex): Set<ServerResponse> {
  const queue = new Set<ServerResponse>();
  queues.set(socket, queue);
  const close = (): void => queue.forEach((answer) => answer.destroy().emit("close"));
  socket.once("close", () => setImmediate(close)); // a later Node has told them by then
  return queue;
}
