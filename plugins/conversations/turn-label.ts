// Names the author of a turn for people.
import type { Turn } from "./contract.ts";

/**
 * Names the author of a turn, as `doorward conversations show` and exported documents do: the name
 * or id of the sender, else `User` or `Assistant`, and the kind of the message. A new version of an
 * earlier message says so.
 *
 * @example
 * import { turnLabel } from "doorward/plugins/conversations";
 * turnLabel({ role: "assistant", kind: "thought" }); // "Assistant, thought"
 */
export function turnLabel({
  role,
  sender,
  kind,
  replaces,
}: Pick<Turn, "role" | "sender" | "kind" | "replaces">): string {
  const author = sender?.name ?? sender?.id ?? (role === "assistant" ? "Assistant" : "User");
  if (role === "tool") return `${author}, results of tools`;
  if (replaces !== undefined) return `${author}, replaces an earlier message`;
  if (kind === undefined) return author;
  return `${author}, ${kind === "tool_calls" ? "tool calls" : kind}`;
}
