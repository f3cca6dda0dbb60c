// Describes the store of conversations.
import type { StatusView } from "./views.ts";
import { formatBytes, formatCount } from "./format.ts";

type Store = NonNullable<StatusView["store"]>;

/** Describes the store of conversations in one line. */
export function storeLabel(store: Store): string {
  const { kind, state, problem, conversations, bytes, nodes = [] } = store;
  if (problem !== undefined) return problem;
  if (state === "away") return "The store is not available";
  if (kind === "memory") return "In memory, not kept after a stop";
  if (kind === "redis") {
    const up = nodes.filter((node) => node.state === "up").length;
    return `In Redis, ${formatCount(up)} ${up === 1 ? "node" : "nodes"}`;
  }
  const noun = conversations === 1 ? "conversation" : "conversations";
  return `${formatCount(conversations)} ${noun} on disk, ${formatBytes(bytes ?? 0)}`;
}
