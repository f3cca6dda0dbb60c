// A model of the store: the views of readers, in memory and as simple as the contract allows.
import type { ConversationSummary, SearchHit, Turn } from "../../plugins/conversations/index.ts";
import { payloadOf, toPreview, toTitle, toTurn } from "../../plugins/conversations/turn-frames.ts";
import type { TestEntry } from "./sqlite-store.ts";

interface Kept {
  readonly entries: (TestEntry & { readonly seq: number })[];
  /** Place of the last entry among all. */
  last: number;
  name: string | undefined;
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

interface FoldedTurn {
  readonly first: Kept["entries"][number];
  latest: TestEntry;
  /** The latest entry whose text is complete: search finds it until another one is. */
  complete: TestEntry | undefined;
}

/** The turns of entries, by their definition: every entry is applied in order. */
function foldTurns(entries: Kept["entries"]): FoldedTurn[] {
  let open: FoldedTurn[] = [];
  for (const entry of entries) {
    const { kind, message, final } = entry;
    if (kind === "other") continue;
    const known = open.find(({ first }) => message !== undefined && first.message === message);
    if (kind === "delete") open = open.filter((one) => one !== known);
    else if (known) Object.assign(known, { latest: entry, ...(final && { complete: entry }) });
    else open.push({ first: entry, latest: entry, complete: final ? entry : undefined });
  }
  return open;
}

function toModelTurn({ first, latest: { final, frame } }: FoldedTurn): Turn {
  const { seq, message, at, kind } = first;
  return toTurn({ seq, message, isUser: kind === "user", final, at, frame })!;
}

const textOf = ({ frame }: TestEntry): string => String(payloadOf(frame)["content"]);

type View = Omit<ConversationSummary, "id" | "channel">;

export class StoreModel {
  private readonly kept = new Map<string, Kept>();
  private count = 0;

  append(entry: TestEntry): void {
    const one = this.kept.get(entry.session) ?? { entries: [], last: 0, name: undefined };
    this.kept.set(entry.session, one);
    one.entries.push({ ...entry, seq: one.entries.length + 1 });
    one.last = this.count += 1;
  }

  rename(session: string, name: string): void {
    const one = this.kept.get(session);
    if (one) one.name = name || undefined;
  }

  forget(session: string): void {
    this.kept.delete(session);
  }

  /** The latest used first. */
  list(): View[] {
    return [...this.kept]
      .toSorted(([, a], [, b]) => b.last - a.last)
      .map(([session]) => this.summary(session));
  }

  /** The `seq` and texts of all frames. */
  frames(session: string): (readonly [number, string])[] {
    const { entries } = this.kept.get(session)!;
    return entries.map(({ seq, frame }) => [seq, new TextDecoder().decode(frame)]);
  }

  turns(session: string): Turn[] {
    return foldTurns(this.kept.get(session)?.entries ?? []).map(toModelTurn);
  }

  /** `session:seq:content` of each turn that has all of the words. */
  search(text: string): string[] {
    const wanted = wordsOf(text);
    return [...this.kept]
      .flatMap(([session, { entries }]) => foldTurns(entries).map((one) => ({ session, one })))
      .filter(({ one: { complete } }) => {
        const words = new Set(complete ? wordsOf(textOf(complete)) : []);
        return wanted.every((word) => words.has(word));
      })
      .map(({ session, one }) => hitName({ session, turn: toModelTurn(one) }))
      .toSorted();
  }

  private summary(session: string): View {
    const { entries, name } = this.kept.get(session)!;
    const turns = this.turns(session);
    const titled = turns.filter(({ content }) => toTitle(content) !== "");
    const first = titled.find(({ role }) => role === "user") ?? titled[0];
    const preview = toPreview(turns.slice(-8));
    return {
      session,
      title: name ?? (first ? toTitle(first.content) : ""),
      renamed: name !== undefined,
      createdAt: entries[0]!.at,
      usedAt: Math.max(...entries.map(({ at }) => at)),
      turns: turns.length,
      ...(preview !== undefined && { preview }),
    };
  }
}

export const hitName = ({
  session,
  turn,
}: {
  readonly session: string;
  readonly turn: SearchHit["turn"];
}): string => `${session}:${turn.seq}:${turn.content}`;
