// Rules about the bytes of TCP connections. Channels without a TCP server keep most of them.
import { once } from "node:events";
import type { Socket } from "node:net";
import type { ConformanceRun } from "../rig.ts";
import type { Wire } from "../wire.ts";
import { claim, longText, says, send, settle, writes, type ConformanceRule } from "./rule.ts";

const texts = ['Grüße\n  \u{1F600} "quoted"\\ ', "second", longText(1_000), "Ende ✓"];
/** Length of a line without an end, and of the chunks in which it is sent. */
const [endlessBytes, chunkBytes] = [16 * 1024 * 1024, 256 * 1024];

/** A channel that reads nothing for this long has stopped reading; it may be slow before. */
const patienceMs = 3_000;

/** @returns Whether the channel closes the connection, stops reading or reports an error. */
async function endsEndlessLine(
  socket: Socket,
  wire: Wire,
  timeoutMs: number,
  head = Buffer.alloc(0),
): Promise<boolean> {
  let isAnswered = false;
  socket.on("data", () => void (isAnswered = true));
  wire.take();
  if (head.length > 0) socket.write(head);
  const chunk = Buffer.alloc(chunkBytes, "a");
  for (let sent = 0; sent < endlessBytes && !socket.destroyed; sent += chunkBytes) {
    if (socket.write(chunk) || socket.destroyed) continue;
    const patience = new AbortController();
    const { signal } = patience;
    const timer = setTimeout(() => patience.abort(), Math.max(timeoutMs, patienceMs));
    const [drained, closed] = ["drain", "close"].map((name) =>
      once(socket, name, { signal }).then(
        () => name === "drain",
        () => false,
      ),
    );
    const isRead = await Promise.race([drained, closed]);
    clearTimeout(timer);
    patience.abort();
    if (!isRead) return true;
  }
  await settle();
  return wire.take().length < endlessBytes && (socket.destroyed || isAnswered);
}

/** The head of a masked text of 64 MiB (RFC 6455 §5.2). */
const endlessFrame = Buffer.from("81ff00000000040000000a0b0c0d", "hex");

/** Gives the permission. @returns Whether the connection is a WebSocket now. */
async function upgrades(run: ConformanceRun, wire: Wire, socket: Socket, permission: Buffer) {
  let heard = "";
  const listen = (bytes: Buffer): void => void (heard += String(bytes));
  socket.on("data", listen);
  await writes(run, wire, socket, permission);
  socket.off("data", listen);
  return heard.startsWith("HTTP/1.1 101");
}

export const wireRules = {
  async "reads bytes that arrive cut or joined anywhere"(run) {
    for (const mode of ["cut", "joined"] as const) {
      const wire = await run.restartOnWire();
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

  async "reads the bytes of each connection on their own"(run) {
    const wire = await run.restartOnWire();
    const peers = [await run.join(), await run.join()];
    wire.deliver("halved");
    const said = texts.filter(({ length }) => length <= run.capabilities.maxTextLength);
    for (const text of said) await Promise.all(peers.map((peer) => peer.say(text)));
    const left = new Map(peers.map(({ session }) => [session, [...said]]));
    for (let count = said.length * peers.length; count > 0; count -= 1) {
      const { session, content } = await run.messages.next("a message of two that speak together");
      const expected = left.get(session)?.shift();
      claim(content === expected, "two clients spoke together, and it mixed their bytes");
    }
    claim(wire.problem() === undefined, `two clients spoke together: ${wire.problem()}`);
  },

  async "takes and shows nothing before a client has permission"(run) {
    if (!run.capabilities.authentication) return;
    const wire = await run.restartOnWire();
    const peer = await run.join();
    const permission = wire.take();
    await says(run, peer, "said before the permission");
    const words = wire.take();
    const sockets = await wire.resources.connectIdle();
    try {
      let heard = "";
      for (const socket of sockets) socket.on("data", (bytes) => void (heard += String(bytes)));
      await send(run, peer, "for those with permission");
      await run.sees(peer, "create");
      await settle();
      const isShown = heard.includes("for those with permission");
      claim(!isShown, "it showed a message to a client that had no permission yet");
      if (run.secrets().some((secret) => words.includes(secret))) return;
      await peer.leave();
      for (const bytes of [words, permission]) {
        for (const socket of sockets) await writes(run, wire, socket, bytes);
        const isTaken = run.messages.waiting.length > 0;
        claim(!isTaken, "it delivered a message from before the permission");
      }
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    await says(run, await run.join(), "with permission");
  },

  async "bounds what a connection sends without an end"(run) {
    const wire = await run.restartOnWire();
    await run.join();
    const permission = wire.take();
    for (const start of [Buffer.alloc(0), permission]) {
      const sockets = await wire.resources.connectIdle();
      if (sockets.length === 0) return;
      for (const socket of sockets) {
        try {
          const isFramed = start.length > 0 && (await upgrades(run, wire, socket, start));
          const head = isFramed ? endlessFrame : undefined;
          const isBound = await endsEndlessLine(socket, wire, run.timeoutMs, head);
          claim(isBound, "it read 16 MiB of one message; close the connection earlier");
        } finally {
          socket.destroy();
        }
      }
    }
    await says(run, await run.join(), "short");
  },
} satisfies Record<string, ConformanceRule>;
