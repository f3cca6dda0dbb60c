// Reads a session, and compares the texts of each number.
import type { SequencedEntry } from "../../../plugins/conversations/index.ts";
import type { RedisNode } from "../../support/redis-nodes.ts";

/** The text of an entry. */
export const textOf = (frame: Uint8Array): string =>
  (JSON.parse(Buffer.from(frame).toString()) as { text: string }).text;

/** A subscriber of one session that reads again whenever its stream was renewed. */
export class Reader {
  /** `epoch:seq` -> text. Two texts of one number are a defect. */
  readonly byNumber: Map<string, string>;
  readonly conflicts: string[] = [];
  renewals = 0;
  private readonly node: RedisNode;
  private readonly session: string;
  private readonly received = new Set<string>();

  /** @param byNumber - Shared by the readers of one session on several nodes. */
  constructor(node: RedisNode, session: string, byNumber = new Map<string, string>()) {
    this.node = node;
    this.session = session;
    this.byNumber = byNumber;
  }

  onEntry({ cursor, frame, numbered: isNumbered }: SequencedEntry): void {
    if (isNumbered) this.add(`${cursor.epoch}:${cursor.seq}`, textOf(frame));
  }

  async subscribe(): Promise<void> {
    await this.node.log.subscribe(this.session, this);
    const { top, frames } = await this.read();
    for (const [at, frame] of frames.entries())
      this.add(`${top!.epoch}:${top!.seq - frames.length + at + 1}`, textOf(frame));
  }

  /** Reads the frames that the store has. */
  read() {
    return this.node.log.readAfter(this.session, undefined, "acknowledged");
  }

  texts(): ReadonlySet<string> {
    return this.received;
  }

  private add(number: string, text: string): void {
    const before = this.byNumber.get(number);
    if (before !== undefined && before !== text)
      this.conflicts.push(`${number}: ${before}, ${text}`);
    this.byNumber.set(number, text);
    this.received.add(text);
  }
}
