// Parts that all rules for channels share.
import type { Socket } from "node:net";
import { codeOf } from "../../kernel/index.ts";
import type { Receipt } from "../../plugins/channels/index.ts";
import type { ConformanceRun, Peer } from "../rig.ts";
import type { Wire } from "../wire.ts";

/** Throws if the channel breaks the rule; the message says how. */
export type ConformanceRule = (run: ConformanceRun) => Promise<void>;

export const sample = 'Grüße\n  \u{1F600} <b>&amp;\u2028"quoted"\\ ';
/** Accepted difference between the time of a message and the time of the test. */
export const maxClockDifferenceMs = 3_600_000;

type InSession = Pick<Peer, "session">;

/** A session that no peer has. */
export const withoutPeers = "without-peers";

export function claim(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new Error(problem);
}

export const to = (
  run: ConformanceRun,
  { session }: InSession,
): { channel: string; session: string } => ({ channel: run.port.name, session });

export const trySend = (run: ConformanceRun, peer: InSession, content: string): Promise<Receipt> =>
  run.channels.send(to(run, peer), { content });

/** Sends a message to a peer that has joined. */
export async function send(
  run: ConformanceRun,
  peer: InSession,
  content: string,
): Promise<Receipt> {
  const receipt = await trySend(run, peer, content).catch((error: unknown) => {
    if (codeOf(error) === "undeliverable") return undefined;
    throw error;
  });
  claim(
    receipt !== undefined && receipt.status !== "undelivered",
    `a message to "${peer.session}" is undelivered although its peer has joined; join() must ` +
      "resolve when the channel knows the peer and its session, for example after its handshake",
  );
  return receipt;
}

/** Sends a text, which must be the next message that the peer sees. */
export async function shows(
  run: ConformanceRun,
  peer: Peer,
  text: string,
  problem: string,
): Promise<void> {
  await send(run, peer, text);
  claim((await run.sees(peer, "create")).content === text, problem);
}

/** Whether a peer sees the message `id` under this id. */
export const showsId = ({ capabilities }: ConformanceRun, seen: string, id: string): boolean =>
  capabilities.messageIds === "network" ? seen !== "" : seen === id;

/**
 * Sends a message to a session without peers.
 *
 * @returns The status; `undelivered` if the channel rejects the message as `undeliverable`.
 */
export async function statusWithoutPeers(
  run: ConformanceRun,
  peer: InSession,
): Promise<Receipt["status"]> {
  try {
    return (await trySend(run, peer, "hello?")).status;
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    const isOwn = cause === undefined || codeOf(cause) !== "internal";
    claim(isOwn, `its send() threw "${(cause as Error)?.message}" instead of a receipt`);
    claim(codeOf(error) === "undeliverable", `it rejected with the code "${codeOf(error)}"`);
    return "undelivered";
  }
}

/** A text of exactly this length, with characters of one to four bytes in UTF-8. */
export function longText(length: number): string {
  const lines = Array.from(
    { length: Math.ceil(length / 20) },
    (_, index) => `Grüße, Zeile ${index} \u{1F600}\n`,
  );
  const text = lines.join("").slice(0, length - 1);
  return text.replace(/[\s\uD800-\uDBFF]$/, "").padEnd(length, ".");
}

/** Channels may drop white space where they split a text. */
export const withoutSpace = (text: string): string => text.replace(/\s+/g, "");

/** Says a text, which must be the next message of the application. */
export async function says(
  run: ConformanceRun,
  peer: Pick<Peer, "say">,
  text: string,
): Promise<void> {
  await peer.say(text);
  const { content } = await run.messages.next(`the message "${text}"`);
  claim(content === text, `"${content}" was delivered instead of "${text}"`);
}

/** Acts as a client. The channel may reject what it does, or close its connection. */
export const mayReject = async (act: () => unknown): Promise<void> => {
  try {
    await act();
  } catch {
    // The rule checks the effect.
  }
};

/** Time for the channel to deliver what it has read, or to open what it opens. */
const settleMs = 25;

export const settle = (ms = settleMs): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, ms));

/** Waits until the channel has read the bytes, or has closed the connection. */
export async function writes(run: ConformanceRun, wire: Wire, socket: Socket, bytes: Buffer) {
  if (bytes.length === 0 || socket.destroyed) return;
  wire.take();
  let read = 0;
  socket.resume().write(bytes);
  const deadline = Date.now() + run.timeoutMs;
  while (read < bytes.length && !socket.destroyed && Date.now() < deadline) {
    await settle();
    read += wire.take().length;
  }
  await settle();
}

/** Writes the parts to a new connection of each server, and closes it. */
export async function writesAlone(run: ConformanceRun, wire: Wire, parts: readonly Buffer[]) {
  for (const socket of await wire.resources.connectIdle()) {
    for (const bytes of parts) await writes(run, wire, socket, bytes);
    socket.destroy();
  }
}
