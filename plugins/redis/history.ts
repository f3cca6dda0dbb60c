// Lists the conversations in Redis, and reads the turns in the window of each session.
import { codeOf } from "../../kernel/index.ts";
import { conversationsErrors } from "../conversations/errors.ts";
import type {
  Address,
  RenameOptions,
  RunningMessage,
  StoredQuestions,
} from "../conversations/contract.ts";
import type {
  ConversationHistory,
  ConversationId,
  ConversationSummary,
  Page,
  SearchHit,
  StoredEnd,
  Turn,
} from "../conversations/contract.ts";
import { isObject } from "../../lib/util.ts";
import { exportConversation } from "../conversations/document.ts";
import { toOrigin, toPreview, toShortTitle, toTurn } from "../conversations/turn-frames.ts";
import type { Reply } from "./driver.ts";
import type { KeySpace, SessionPlace } from "./keys.ts";
import type { RedisLink } from "./link.ts";
import { toStreamEntries, type StreamEntry } from "./replies.ts";
import { markTurns } from "./turn-marks.ts";

interface RedisHistoryOptions {
  readonly link: RedisLink;
  readonly space: KeySpace;
  /** Unix milliseconds. */
  readonly keepMs: number;
  /** Lists the messages that a node works on. Undefined if that node does not answer. */
  readonly workedOn: (address: Address) => Promise<readonly RunningMessage[] | undefined>;
  readonly questions: Pick<StoredQuestions, "list">;
  /** Called for a session whose data in Redis is malformed. It is left out. */
  readonly malformed: (sk: string) => void;
}

/** Sessions that one page of a filtered list looks at, at most. */
const maxScanned = 1_000;
/** Conversations that a list names. */
const maxNamed = 200;
const idPattern = /^([\w-]{22})([0-9a-f]{16})$/;

const textOf = (value: Reply | undefined): string | undefined =>
  value === null || value === undefined ? undefined : String(value);

const isAddress = (value: unknown): value is Address =>
  isObject(value) && typeof value["channel"] === "string" && typeof value["session"] === "string";

const isCount = (text: string | undefined): boolean =>
  text === undefined || Number.isFinite(Number(text));

/** @throws TypeError if another program has written the fields. */
function toSummary(sk: string, fields: readonly Reply[]): ConversationSummary | undefined {
  const [creation, address, title, name, createdAt, usedAt, turns, dropped] = fields.map(textOf);
  if (fields.length === 0) throw new TypeError("not a hash");
  if (creation === undefined || address === undefined || createdAt === undefined) return undefined;
  const parsed: unknown = JSON.parse(address);
  if (!isAddress(parsed) || ![createdAt, usedAt, turns, dropped].every(isCount))
    throw new TypeError("malformed fields");
  const { channel, session } = parsed;
  const all = Math.max(0, Number(turns ?? 0));
  const gone = Math.min(all, Number(dropped ?? 0));
  return {
    id: sk + creation,
    channel,
    session,
    title: name ?? title ?? "",
    renamed: name !== undefined,
    createdAt: Number(createdAt),
    usedAt: Number(usedAt),
    turns: all,
    ...(gone > 0 && { dropped: gone }),
  };
}

/** The latest updates of messages, which have no number until their text is complete. */
type Growing = ReadonlyMap<string, Buffer>;

/** @param reply - Ids and frames in turn. */
function toGrowing(reply: Reply | undefined): Growing {
  const values = (reply ?? []) as readonly Reply[];
  const growing = new Map<string, Buffer>();
  for (let at = 0; at + 1 < values.length; at += 2) {
    const [id, frame] = [values[at], values[at + 1]];
    if (Buffer.isBuffer(frame)) growing.set(String(id), frame);
  }
  return growing;
}

const hasText = ({ title, session }: ConversationSummary, folded: string): boolean =>
  title.toLowerCase().includes(folded) || session.toLowerCase().includes(folded);

function withPreview(summary: ConversationSummary, turns: readonly Turn[]): ConversationSummary {
  const preview = toPreview(turns);
  return { ...summary, ...(preview !== undefined && { preview }), ...toOrigin(turns) };
}

/** Assembles the turns of the entries, oldest first. */
function toTurns(entries: readonly StreamEntry[], growing: Growing = new Map()): readonly Turn[] {
  const turns = new Map<string, { readonly first: StreamEntry; last: StreamEntry }>();
  for (const entry of entries) {
    const { t = "", m } = entry.head;
    if (t === "message.delete") turns.delete(m ?? "");
    if (!["message.user", "message.create", "message.update"].includes(t)) continue;
    const key = m ?? `#${entry.seq}`;
    const turn = turns.get(key);
    if (turn) turn.last = entry;
    else turns.set(key, { first: entry, last: entry });
  }
  return [...turns.values()].flatMap(({ first, last }): Turn[] => {
    const final = last.head.f === 1;
    const isUser = first.head.t === "message.user";
    // The node of an answer without an end may be gone: this is all that it wrote.
    const latest = final || isUser ? undefined : growing.get(first.head.m ?? "");
    const turn = toTurn({
      seq: first.seq,
      message: first.head.m,
      isUser,
      final,
      at: first.head.a ?? 0,
      frame: latest ?? last.frame,
    });
    return turn ? [turn] : [];
  });
}

function seqOf(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  const found = /^[0-9A-Za-z]{0,64}:(\d{1,15})$/.exec(cursor);
  if (!found) throw conversationsErrors.not_found();
  return Number(found[1]);
}

export class RedisHistory implements Omit<ConversationHistory, "forget"> {
  private readonly options: RedisHistoryOptions;

  constructor(options: RedisHistoryOptions) {
    this.options = options;
  }

  async list({
    before,
    limit = 50,
    query = "",
    ids,
  }: Parameters<ConversationHistory["list"]>[0] = {}): Promise<Page<ConversationSummary>> {
    if (ids) return { items: await this.named(ids.slice(0, maxNamed)) };
    const [, from = "+inf", skip = "0"] =
      /^(\d{1,15})-(\d{1,9})$/.exec(before ?? "") ?? (before === undefined ? [] : [null]);
    if (from === null) throw conversationsErrors.not_found();
    const folded = query.toLowerCase();
    const items: ConversationSummary[] = [];
    let position = { score: from, skip: Number(skip) };
    for (let scanned = 0; scanned < maxScanned; scanned += limit) {
      const rows = await this.rows(position, limit);
      for (const [sk, score, fields, latest] of rows) {
        const text = String(score);
        const isSame = text === position.score;
        position = { score: text, skip: isSame ? position.skip + 1 : 1 };
        const summary = this.toSummary(String(sk), fields as readonly Reply[]);
        if (!summary || !hasText(summary, folded)) continue;
        items.push(withPreview(summary, this.toTurns(String(sk), latest)));
        if (items.length === limit) return { items, before: `${position.score}-${position.skip}` };
      }
      if (rows.length < limit) return { items };
    }
    return { items, before: `${position.score}-${position.skip}` };
  }

  /** @returns The conversations with these ids that exist, the latest used first. */
  private async named(ids: readonly ConversationId[]): Promise<readonly ConversationSummary[]> {
    const found = await Promise.all(
      ids.map(async (id): Promise<readonly ConversationSummary[]> => {
        const [, sk] = idPattern.exec(id) ?? [];
        if (sk === undefined) return [];
        const place = this.options.space.placeOf(sk);
        const summary = await this.summary(place);
        if (summary?.id !== id) return [];
        const [, entries] = await this.stream(place);
        return [withPreview(summary, this.toTurns(sk, entries))];
      }),
    );
    return found.flat().toSorted((a, b) => b.usedAt - a.usedAt);
  }

  async find({ channel, session }: Address): Promise<ConversationSummary | undefined> {
    return this.summary(this.options.space.place(channel, session));
  }

  async get(id: ConversationId): Promise<ConversationSummary> {
    const summary = await this.summary(this.placeOf(id).place);
    if (summary?.id !== id) throw conversationsErrors.not_found();
    return summary;
  }

  async read(
    id: ConversationId,
    { before, after, limit = 50 }: Parameters<ConversationHistory["read"]>[1] = {},
  ): Promise<Page<Turn>> {
    const { channel, session } = await this.get(id);
    const { place } = this.placeOf(id);
    const [epoch, entries, growing] = await this.stream(place);
    const malformed = (): void => this.options.malformed(place.sk);
    const stream = toStreamEntries(entries, malformed);
    const turns = await markTurns(toTurns(stream, toGrowing(growing)), {
      entries: stream,
      ends: () => this.ends(place),
      workedOn: () => this.options.workedOn({ channel, session }),
      questions: () => this.options.questions.list({ channel, session }),
    });
    const [below, above] = [seqOf(before), seqOf(after)];
    const isForward = below === undefined && above !== undefined;
    const wanted = turns.filter(({ seq }) => seq < (below ?? Infinity) && seq > (above ?? -1));
    const items = isForward ? wanted.slice(0, limit) : wanted.slice(-limit);
    const first = items[0];
    const hasMore = first !== undefined && turns.some(({ seq }) => seq < first.seq);
    return hasMore ? { items, before: `${String(epoch)}:${first.seq}` } : { items };
  }

  /** Epoch, the entries in the window, and the latest text of each that grows. */
  private async stream({ keys, sk }: SessionPlace): Promise<readonly Reply[]> {
    const call = { script: "history", keys, values: [], repeats: true } as const;
    const reply = await this.options.link.run(call).catch((error: unknown) => {
      if (codeOf(error) !== "internal") throw error;
      this.options.malformed(sk);
      return [];
    });
    return reply as readonly Reply[];
  }

  async search(): Promise<readonly SearchHit[]> {
    throw conversationsErrors.not_supported("search");
  }

  async rename(id: ConversationId, title: string, { by }: RenameOptions = {}): Promise<void> {
    const { place, creation } = this.placeOf(id);
    const values = [creation, toShortTitle(title), by === "application" ? "ti" : "nm"];
    const call = { script: "rename", keys: place.keys, values, repeats: true } as const;
    if ((await this.options.link.run(call)) !== 1) throw conversationsErrors.not_found();
  }

  /** @returns The session, and its fence for what is written from now on. */
  async forgetBy(node: string, id: ConversationId): Promise<{ sk: string; fence: number }> {
    const { link, space, keepMs } = this.options;
    const { place, creation } = this.placeOf(id);
    const { sk, keys } = place;
    for (;;) {
      const ids = (await link.run({ script: "ids", keys, values: [], repeats: true })) as Reply[];
      const deleted = ids.map((each) => space.deletedId(sk, String(each)));
      const own = [creation, sk, node, keepMs, space.all, space.questions];
      const values = [...own, ids.length, space.deleted, space.records, ...deleted];
      const fence = Number(await link.run({ script: "forget", keys, values, repeats: true }));
      if (fence === 0) throw conversationsErrors.not_found();
      // Otherwise, the session has got another id in the meantime.
      if (fence > 0) return { sk, fence };
    }
  }

  export(id: ConversationId, format: "json" | "markdown"): AsyncIterable<string> {
    return exportConversation(this, id, format);
  }

  private placeOf(id: ConversationId): { place: SessionPlace; creation: string } {
    const [, sk, creation] = idPattern.exec(id) ?? [];
    if (sk === undefined || creation === undefined) throw conversationsErrors.not_found();
    return { place: this.options.space.placeOf(sk), creation };
  }

  private async summary({ sk, keys }: SessionPlace): Promise<ConversationSummary | undefined> {
    const call = { script: "summary", keys, values: [], repeats: true } as const;
    return this.toSummary(sk, (await this.options.link.run(call)) as readonly Reply[]);
  }

  /** @returns Undefined also if the fields are malformed. */
  private toSummary(sk: string, fields: readonly Reply[]): ConversationSummary | undefined {
    try {
      return toSummary(sk, fields);
    } catch {
      this.options.malformed(sk);
      return undefined;
    }
  }

  /** @returns How the answers to the latest messages have ended, by their ids. */
  private async ends({ sk, keys }: SessionPlace): Promise<ReadonlyMap<string, StoredEnd | null>> {
    const call = { script: "answers", keys, values: [], repeats: true } as const;
    try {
      const rows = (await this.options.link.run(call)) as readonly Reply[];
      return new Map(
        rows.map((row) => JSON.parse(String(row)) as readonly [string, StoredEnd | null]),
      );
    } catch (error) {
      if (codeOf(error) !== "internal") throw error;
      this.options.malformed(sk);
      return new Map();
    }
  }

  /** Leaves out malformed entries. */
  private toTurns(sk: string, entries: Reply | undefined): readonly Turn[] {
    return toTurns(toStreamEntries(entries, () => this.options.malformed(sk)));
  }

  private async rows(
    { score, skip }: { readonly score: string; readonly skip: number },
    count: number,
  ): Promise<readonly (readonly Reply[])[]> {
    const { link, space, keepMs } = this.options;
    const values = [score, skip, count, keepMs, space.base];
    const call = { script: "list", keys: [space.index], values, repeats: true } as const;
    return (await link.run(call)) as readonly (readonly Reply[])[];
  }
}
