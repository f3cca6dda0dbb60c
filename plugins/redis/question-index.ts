// The index of open questions and undelivered answers: one hash of all sessions.
import { isObject } from "../../lib/util.ts";
import type {
  Address,
  QuestionMark,
  StoredQuestion,
  StoredQuestions,
} from "../conversations/contract.ts";
import { toStoredQuestion } from "../conversations/question-frames.ts";
import { payloadOf } from "../conversations/turn-frames.ts";
import type { Reply } from "./driver.ts";
import type { KeySpace } from "./keys.ts";
import type { RedisLink } from "./link.ts";
import type { Nodes } from "./nodes.ts";

/*
 * A field `<sk>:<message>` has the lines: a description, the frame that asks and, of an answer that
 * no application has accepted, the frame that settles. Frames of JSON have no line breaks.
 */

/**
 * @param address - Channel and session as JSON.
 * @param at - Unix milliseconds.
 * @returns The value with which the script notes an entry.
 */
export function toMark({ state, durable }: QuestionMark, address: string, at = 0): string {
  if (state !== "open") return state;
  return JSON.stringify({ address: JSON.parse(address) as Address, at, durable });
}

/** @returns Undefined if another program has written the value. */
function toQuestion(field: string, value: string): StoredQuestion | undefined {
  const [about = "", asked = "", settled] = value.split("\n");
  let read: unknown;
  try {
    read = JSON.parse(about);
  } catch {
    return undefined;
  }
  if (!isObject(read) || !isObject(read.address)) return undefined;
  const { channel, session } = read.address;
  if (typeof channel !== "string" || typeof session !== "string") return undefined;
  return toStoredQuestion({
    ...{ channel, session },
    id: field.slice(field.indexOf(":") + 1),
    at: Number(read.at),
    durable: typeof read.durable === "string" ? read.durable : undefined,
    asked: payloadOf(Buffer.from(asked)),
    settled: settled === undefined ? undefined : payloadOf(Buffer.from(settled)),
  });
}

/** @returns Undefined if another program has written the value. */
function toAddress(text: string): Address | undefined {
  try {
    const read: unknown = JSON.parse(text);
    if (!isObject(read)) return undefined;
    const { channel, session } = read;
    if (typeof channel === "string" && typeof session === "string") return { channel, session };
  } catch {
    // not JSON
  }
  return undefined;
}

/** Settled questions come in the order of their settlement, open ones in that of their asking. */
const orderOf = ({ question, at }: StoredQuestion): number => question.settled?.at ?? at;

export class QuestionIndex implements StoredQuestions {
  private readonly link: RedisLink;
  private readonly space: KeySpace;
  private readonly nodes: Nodes;

  constructor(link: RedisLink, space: KeySpace, nodes: Nodes) {
    this.link = link;
    this.space = space;
    this.nodes = nodes;
  }

  watch(listener: () => void): void {
    this.nodes.handle("questions-changed", (_, from) => {
      if (from !== this.nodes.me) listener();
    });
  }

  /** Tells the other nodes that a question was asked or settled here. */
  changed(): void {
    void this.nodes.tellAll({ t: "questions-changed" });
  }

  async list(address?: Address): Promise<readonly StoredQuestion[]> {
    const { questions } = this.space;
    const sk = address ? this.space.place(address.channel, address.session).sk : "";
    const call = { script: "questions", keys: [questions], values: [sk], repeats: true } as const;
    const pairs = (await this.link.run(call)) as readonly Reply[];
    const found: StoredQuestion[] = [];
    for (let at = 0; at < pairs.length; at += 2) {
      const question = toQuestion(String(pairs[at]), String(pairs[at + 1]));
      if (question) found.push(question);
    }
    return found.toSorted((one, other) => orderOf(one) - orderOf(other));
  }

  async lostSince(since: number): Promise<readonly Address[]> {
    const { lost, base } = this.space;
    const call = { script: "lost", keys: [lost], values: [since, base], repeats: true } as const;
    const found = (await this.link.run(call)) as readonly Reply[];
    return found.flatMap((text) => toAddress(String(text)) ?? []);
  }
}
