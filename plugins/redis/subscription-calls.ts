// The calls of a node that begins or ends to listen to a session.
import type { Reply } from "./driver.ts";
import type { SessionPlace } from "./keys.ts";
import type { LiveSession } from "./live-session.ts";
import type { RedisLogContext } from "./log-context.ts";

interface OpenOptions {
  /** A fresh epoch, and the highest number of the session that this node knows. */
  readonly seen: readonly (string | number)[];
  /** Channel and session as JSON. */
  readonly address: string;
}

interface OpenedStream {
  readonly epoch: string;
  readonly seq: number;
  /** Nodes that listen to the session, this one included. */
  readonly listeners: number;
}

/** Listens to a session, and creates its stream. */
export async function openStream(
  { link, space, node, settings }: RedisLogContext,
  live: LiveSession,
  { seen, address }: OpenOptions,
): Promise<OpenedStream> {
  const { keys, sk } = live.place;
  live.listening = link.subscribe(keys.at(-1)!, (message) => live.received(message));
  await live.listening;
  const about = [node.me, settings.keepMs, address, sk, space.nodes];
  const values = [...seen, ...about, live.wantsEnds ? 1 : 0];
  const call = { script: "open", keys, values, repeats: true } as const;
  const [epoch, seq, listeners] = (await link.run(call)) as readonly Reply[];
  return { epoch: String(epoch), seq: Number(seq), listeners: Number(listeners) };
}

/** Tells all nodes that a client here asks for the ends of answers. */
export async function requestEnds(
  { link, space }: RedisLogContext,
  { keys, sk }: SessionPlace,
): Promise<void> {
  await link.run({ script: "requestEnds", keys, values: [sk, space.nodes], repeats: true });
}

/** @returns How many nodes still listen to the session; 0 if the store is away. */
export async function leaveStream(
  { link, space, node }: RedisLogContext,
  { keys, sk }: SessionPlace,
): Promise<number> {
  const values = [sk, space.nodes, node.me];
  const call = { script: "leave", keys, values, repeats: true } as const;
  return Number(await link.run(call).catch(() => 0));
}
