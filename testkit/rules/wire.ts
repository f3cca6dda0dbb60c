// Rules about the bytes of TCP connections. Channels without a TCP server keep most of them.
import { once } from "node:events";
import type { Socket } from "node:net";
import type { ConformanceRun } from "../rig.ts";
import type { Wire } from "../wire.ts";
import { claim, longText, says, send, type ConformanceRule } from "./rule.ts";

const texts = ['Grüße\n  \u{1F600} "quoted"\\ ', "second", longText(1_000), "Ende ✓"];
/** Time for the channel to deliver what it has read. */
const settleMs = 25;
/** Length of a line without an end, and of the chunks in which it is sent. */
const [endlessBytes, chunkBytes] = [16 * 1024 * 1024, 256 * 1024];

/** A channel that reads nothing for this long has stopped reading; it may be slow before. */
const patienceMs = 3_000;

const settle = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, settleMs));

/** Waits until the channel has read the bytes, or has closed the connection. */
async function writes(run: ConformanceRun, wire: Wire, socket: Socket, bytes: Buffer) {
  wire.take();
  let read = 0;
  socket.write(bytes);
  const deadline = Date.now() + run.timeoutMs;
  while (read < bytes.length && !socket.destroyed && Date.now() < deadline) {
    await settle();
    read += wire.take().length;
  }
  await settle();
}

/** @returns Whether the channel closes the connection, stops reading or reports an error. */
async function endsEndlessLine(socket: Socket, timeoutMs: number): Promise<boolean> {
  let isAnswered = false;
  socket.on("data", () => void (isAnswered = true));
  const chunk = Buffer.alloc(chunkBytes, "a");
  for (let sent = 0; sent < endlessBytes && !socket.destroyed; sent += chunkBytes) {
    if (socket.write(chunk) || socket.destroyed) continue;
    const signal = AbortSignal.timeout(Math.max(timeoutMs, patienceMs));
    const drained = once(socket, "drain", { signal }).then(
      () => true,
      () => false,
    );
    const closed = once(socket, "close", { signal }).then(
      () => false,
      () => false,
    );
    if (!(await Promise.race([drained, closed]))) return true;
  }
  await settle();
  return socket.destroyed || isAnswered;
}

export const wireRules = {
  async "reads bytes that arrive cut or joined anywhere"(run) {
    for (const mode of ["cut", "joined"] as const) {
      await run.stop();
      const wire = await run.startOnWire();
      wire.deliver(mode);
      const peer = await run.join();
      const said = texts.filter(({ length }) => length <= run.capabilities.maxTextLength);
      for (const text of said) await peer.say(text);
      for (const text of said) {
        const { content } = await run.messages.next(`a message whose bytes arrived ${mode}`);
        const [expected, actual] = [text, content].map((each) => JSON.stringify(each));
        claim(content === text, `bytes arrived ${mode}, and it read ${actual} for ${expected}`);
      }
      claim(wire.problem() === undefined, `bytes arrived ${mode}, and it threw: ${wire.problem()}`);
    }
  },

  async "takes and shows nothing before a client has permission"(run) {
    if (!run.capabilities.authentication) return;
    await run.stop();
    const wire = await run.startOnWire();
    const peer = await run.join();
    const permission = wire.take();
    await says(run, peer, "said before the permission");
    const words = wire.take();
    const sockets = await wire.resources.connectIdle();
    try {
      let heard = "";
      for (const socket of sockets) socket.on("data", (bytes) => void (heard += String(bytes)));
      await send(run, peer, "for those with permission");
      await peer.sees("create");
      await settle();
      const isShown = heard.includes("for those with permission");
      claim(!isShown, "it showed a message to a client that had no permission yet");
      if (run.secrets().some((secret) => words.includes(secret))) return;
      await peer.leave();
      for (const bytes of [words, permission]) {
        for (const socket of sockets)
          if (bytes.length > 0 && !socket.destroyed) await writes(run, wire, socket, bytes);
        claim(
          run.messages.waiting.length === 0,
          "it delivered a message from before the permission",
        );
      }
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    await says(run, await run.join(), "with permission");
  },

  async "bounds what a connection sends without an end"(run) {
    await run.stop();
    const wire = await run.startOnWire();
    await run.join();
    const permission = wire.take();
    for (const start of [Buffer.alloc(0), permission]) {
      const sockets = await wire.resources.connectIdle();
      if (sockets.length === 0) return;
      for (const socket of sockets) {
        try {
          if (start.length > 0) await writes(run, wire, socket, start);
          const isBound = await endsEndlessLine(socket, run.timeoutMs);
          claim(isBound, "it read 16 MiB without the end of a line; close the connection earlier");
        } finally {
          socket.destroy();
        }
      }
    }
    await says(run, await run.join(), "short");
  },
} satisfies Record<string, ConformanceRule>;
