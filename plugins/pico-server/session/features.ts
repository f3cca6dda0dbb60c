// The additions to the protocol that a client asked for with `pico_can`.
import type { Capability } from "../../../lib/pico-wire/index.ts";

/** Shared by all clients that asked for the same. */
export interface Features {
  /** For `can` of `hello`; undefined if the client did not ask. */
  readonly names: readonly Capability[] | undefined;
  /** The client receives the text that a message has grown by instead of the whole text. */
  readonly append: boolean;
  /** The client receives words of Doorward or a bridge, which are not the agent's. */
  readonly notices: boolean;
  /** The client may answer questions. */
  readonly questions: boolean;
  /** The client may stop messages. */
  readonly stop: boolean;
  /** The client receives the messages of people on other devices. */
  readonly turns: boolean;
  /** The client receives its own messages, too, when they are in the conversation. */
  readonly waiting: boolean;
  /** The client receives the ends of answers. */
  readonly ends: boolean;
}

const known: readonly Capability[] = ["append", "notices", "questions", "stop", "turns", "waiting"];
/** Longest list that is read, in characters. */
const maxListLength = 256;

const createFeatures = (names: readonly Capability[] | undefined): Features => ({
  names,
  append: names?.includes("append") ?? false,
  notices: names?.includes("notices") ?? false,
  questions: names?.includes("questions") ?? false,
  stop: names?.includes("stop") ?? false,
  turns: names?.some((name) => name === "turns" || name === "waiting") ?? false,
  waiting: names?.includes("waiting") ?? false,
  ends: names !== undefined && names.length > 0,
});

export const noFeatures = createFeatures(undefined);
const featuresByList = new Map<string, Features>();

/** Reads the names that this server knows and ignores all others. */
export function readFeatures(params: URLSearchParams): Features {
  const list = params.get("pico_can");
  if (list === null) return noFeatures;
  const asked = list.slice(0, maxListLength).split(",");
  const names = known.filter((name) => asked.includes(name));
  const key = names.join();
  const features = featuresByList.get(key) ?? createFeatures(names);
  featuresByList.set(key, features);
  return features;
}
