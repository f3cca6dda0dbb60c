// Notifications about open questions, and the tickets of their buttons. Each answers once.
import { hash } from "node:crypto";
import { codeOf } from "../../kernel/index.ts";
import type { Address } from "../channels/index.ts";
import type { Records, StoredRecord } from "../records/index.ts";

/** A device that shows the notification. */
export interface Shown {
  readonly device: string;
  /** SHA-256 of the ticket. Absent without buttons. */
  readonly ticket?: string;
  /** The option that its button chose. */
  readonly used?: string;
}

/** One notification about one or more questions of a session. */
export interface SentNotice extends Address {
  /** The questions that it counts as open. The first one names it. */
  readonly questions: readonly string[];
  readonly shown: readonly Shown[];
  /** Options that its buttons may choose. */
  readonly options: readonly string[];
  /** Name of the node that sent it. */
  readonly node: string;
}

const digestOf = (secret: string): string => hash("sha256", secret, "base64url");

const counts = ({ questions }: SentNotice, question: string): boolean =>
  questions.includes(question);

/** The outcome of a ticket. */
type TicketUse =
  | { readonly status: "unknown" | "used" }
  | {
      readonly status: "free";
      readonly id: string;
      readonly notice: SentNotice;
      readonly device: string;
      /** Makes the ticket free again: the answer could not be stored. */
      readonly release: () => Promise<void>;
    };

/** A ticket names its notification, so that every node finds it: `ID.SECRET`. */
export function createTicket(
  id: string,
  random: (bytes: number) => Uint8Array,
): { readonly ticket: string; readonly digest: string } {
  const secret = Buffer.from(random(32)).toString("base64url");
  return { ticket: `${id}.${secret}`, digest: digestOf(secret) };
}

export class Notices {
  private readonly records: Records<SentNotice>;
  /** Question -> its notification, for those that this node has sent. The record goes with its
   *  conversation, and the notification must change then too. */
  private readonly own = new Map<string, SentNotice & { readonly id: string }>();

  constructor(records: Records<SentNotice>) {
    this.records = records;
  }

  /** Whether this node has sent something about the question. */
  has(question: string): boolean {
    return this.own.has(question);
  }

  /**
   * Claims the questions for this node.
   *
   * @returns False if another node has sent something about the first one.
   */
  async claim(id: string, notice: SentNotice): Promise<boolean> {
    const { channel, session } = notice;
    for (const question of notice.questions) this.own.set(question, { id, ...notice });
    try {
      await this.records.put(id, notice, { version: 0, session: { channel, session } });
      return true;
    } catch (error) {
      for (const question of notice.questions) this.own.delete(question);
      if (codeOf(error) === "record_conflict") return false;
      throw error;
    }
  }

  /** @returns The notification that counts a question as open. */
  async find(question: string): Promise<(SentNotice & { readonly id: string }) | undefined> {
    const known = this.own.get(question);
    const found =
      (await this.records.get(known?.id ?? question)) ??
      (known
        ? undefined
        : (await this.records.list()).find(({ value }) => counts(value, question)));
    if (!found) return known;
    return counts(found.value, question) ? { id: found.key, ...found.value } : undefined;
  }

  /** @returns Everything that counts as open. */
  async list(): Promise<readonly (SentNotice & { readonly id: string })[]> {
    return (await this.records.list()).map(({ key, value }) => ({ id: key, ...value }));
  }

  /** Stores that fewer questions are open. Tickets end: their notification is replaced. */
  async reduce(id: string, { shown, ...notice }: SentNotice): Promise<void> {
    const { channel, session } = notice;
    for (const [question, { id: own }] of this.own)
      if (own === id && !notice.questions.includes(question)) this.own.delete(question);
    const without = shown.map(({ device }) => ({ device }));
    await this.records.put(id, { ...notice, shown: without }, { session: { channel, session } });
  }

  async remove(id: string): Promise<void> {
    for (const [question, notice] of this.own) if (notice.id === id) this.own.delete(question);
    await this.records.remove(id);
  }

  /** Uses a ticket for an option. Of two uses, one counts. */
  async use(ticket: string, option: string): Promise<TicketUse> {
    const [id = "", secret = ""] = ticket.split(".");
    const digest = digestOf(secret);
    for (;;) {
      const found = /^[\w-]{1,64}$/.test(id) ? await this.records.get(id) : undefined;
      const mine = found?.value.shown.find((each) => each.ticket === digest);
      if (!found || !mine) return { status: "unknown" };
      if (mine.used !== undefined) return { status: "used" };
      if (!found.value.options.includes(option)) return { status: "unknown" };
      try {
        await this.mark(found, mine, { ...mine, used: option });
        const release = () => this.release(id, digest);
        return { status: "free", id, notice: found.value, device: mine.device, release };
      } catch (error) {
        if (codeOf(error) !== "record_conflict") throw error;
      }
    }
  }

  private async release(id: string, digest: string): Promise<void> {
    const found = await this.records.get(id);
    const mine = found?.value.shown.find((each) => each.ticket === digest);
    if (!found || !mine) return;
    const { used: _, ...free } = mine;
    await this.mark(found, mine, free);
  }

  private async mark(
    { key, value, version }: StoredRecord<SentNotice>,
    before: Shown,
    after: Shown,
  ): Promise<void> {
    const shown = value.shown.map((each) => (each === before ? after : each));
    const { channel, session } = value;
    await this.records.put(key, { ...value, shown }, { version, session: { channel, session } });
  }
}
