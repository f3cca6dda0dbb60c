/** Finds the versions of a conversation whose messages were edited or asked again. @module */
import { isInConversation, type Message } from "./thread.ts";

/** The version that a person has chosen: by the key of any of its siblings. */
export type Choices = ReadonlyMap<string, string>;

/** The versions of one message. */
export interface Versions {
  /** Position of the shown one, from 1. */
  readonly at: number;
  /** Keys of the messages, oldest first. */
  readonly keys: readonly string[];
}

/** One path through the versions. */
export interface Path {
  readonly messages: readonly Message[];
  /** By the key of the shown message. Messages with one version have no entry. */
  readonly versions: ReadonlyMap<string, Versions>;
  /** True if the newest message is in another version. */
  readonly isEarlier: boolean;
  /** True if the path begins with a message whose replaced one is not loaded. */
  readonly isCut: boolean;
}

/** A message of a person with everything that follows it directly. */
interface Node {
  readonly key: string;
  readonly parent?: Node;
  readonly children: Node[];
  /** The child whose branch has the newest message. */
  newest?: Node;
}

const createRoot = (): Node => ({ key: "", children: [] });

interface Tree {
  readonly root: Node;
  readonly leaf: Node;
  readonly isCut: boolean;
  /** The node of each message, in the order of the messages. */
  readonly owners: readonly Node[];
}

/**
 * A message continues the newest one before it, or the one before the message that it replaces. If
 * the replaced one is not loaded, everything before belongs to an earlier version.
 */
function createTree(messages: readonly Message[]): Tree {
  const first = createRoot();
  let root = first;
  let leaf = root;
  const nodes = new Map<string, Node>();
  const owners = messages.map((message): Node => {
    const request = "requestId" in message ? message.requestId : undefined;
    if (message.kind !== "user") return nodes.get(request ?? "") ?? leaf;
    const { key, replaces } = message;
    const isNewVersion = replaces !== undefined && isInConversation(message);
    const replaced = nodes.get(replaces ?? "");
    if (isNewVersion && !replaced) root = createRoot();
    const parent = isNewVersion ? (replaced?.parent ?? root) : leaf;
    leaf = { key, parent, children: [] };
    parent.children.push(leaf);
    parent.newest = leaf;
    nodes.set(message.requestId, leaf);
    // A message that continues the newest one is on its path already.
    if (isNewVersion) for (let at = parent; at.parent; at = at.parent) at.parent.newest = at;
    return leaf;
  });
  // The newest message may continue what precedes such a version.
  let top = leaf;
  while (top.parent) top = top.parent;
  return { root: top, leaf, isCut: top !== first, owners };
}

const chosenOf = ({ children, newest }: Node, choices: Choices): Node | undefined => {
  if (children.length < 2) return newest;
  const chosen = choices.get(children[0]!.key);
  return children.find(({ key }) => key === chosen) ?? newest;
};

/** Selects the messages of the chosen versions, by default of the newest ones. */
export function selectPath(messages: readonly Message[], choices: Choices): Path {
  const { root, leaf, isCut, owners } = createTree(messages);
  const shown = new Set<Node>();
  const versions = new Map<string, Versions>();
  let last = root;
  for (let node: Node | undefined = root; node; node = chosenOf(node, choices)) {
    shown.add(node);
    last = node;
    const keys = node.parent?.children.map(({ key }) => key) ?? [];
    if (keys.length > 1) versions.set(node.key, { keys, at: keys.indexOf(node.key) + 1 });
  }
  const selected = messages.filter((_, at) => shown.has(owners[at]!));
  return { messages: selected, versions, isEarlier: last !== leaf, isCut };
}

/** Chooses a version of a message. */
export const choose = (choices: Choices, { keys }: Versions, key: string): Choices =>
  new Map(choices).set(keys[0]!, key);

/** Chooses the versions that contain a message. */
export function choosePathTo(
  messages: readonly Message[],
  choices: Choices,
  wanted: string,
): Choices {
  const { owners } = createTree(messages);
  const next = new Map(choices);
  const owner = owners[messages.findIndex(({ key }) => key === wanted)];
  for (let node = owner; node?.parent; node = node.parent)
    if (node.parent.children.length > 1) next.set(node.parent.children[0]!.key, node.key);
  return next;
}
