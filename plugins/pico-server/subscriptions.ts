import { frameWithPosition, memoizeLast } from "./faces.ts";
import { frameBytes, type EncodedFrame } from "./framed.ts";
import { SessionReader, type ReaderListener, type StreamStart } from "./reader.ts";
import type { Cursor, SequencedEntry, SessionLog } from "./session-log.ts";

const maxSessionsPerConnection = 64;

const frameOnce = memoizeLast(({ frame }) => frameBytes(frame));
const frameWithoutPosition = (entry: SequencedEntry): EncodedFrame =>
  entry.framed ?? frameOnce(entry);
const frameWithPositionOnce = memoizeLast(frameWithPosition);

export interface SubscriptionsOwner {
  send(frame: EncodedFrame, entry: SequencedEntry): void;
  failed(error: unknown): void;
  /** Of the extension's session. */
  begin(start: StreamStart): void;
}

/** The sessions one connection hears: at most 64, the longest unused leaves; that of the extension stays, which hears
 *  it with numbers, and says what it has. */
export class Subscriptions implements ReaderListener {
  private readonly log: SessionLog;
  private readonly owner: SubscriptionsOwner;
  /** The longest unused comes first. */
  private readers: SessionReader[] | undefined = undefined;
  private resumer: SessionReader | undefined = undefined;
  /** What this client may acknowledge: behind the gaps it was told of. */
  private mine: { readonly epoch: string; readonly after: number } | undefined = undefined;
  private open = true;

  constructor(log: SessionLog, owner: SubscriptionsOwner) {
    this.log = log;
    this.owner = owner;
  }

  /** The session of a client of the extension, from the place on that it named. */
  resume(session: string, after: Cursor | undefined): void {
    this.resumer = new SessionReader(this.log, session, this);
    this.resumer.start({ after, beginning: "confirmed", resumes: true });
  }

  /** Hears the session from now on; hearing and naming it are uses. */
  use(session: string): void {
    if (!this.open || session === this.resumer?.session || this.touch(session)) return;
    const reader = new SessionReader(this.log, session, this);
    const readers = (this.readers ??= []);
    if (readers.length === maxSessionsPerConnection) readers.shift()!.stop();
    readers.push(reader);
    reader.start({ after: undefined, resumes: false }); // what it hears may be too much, and close all this
  }

  /** Everything of the extension's session up to `seq` has arrived. */
  acknowledge(seq: number): void {
    if (this.resumer && this.mine)
      this.log.note(this.resumer.session, { ...this.mine, upTo: seq }, "taken");
  }

  /** Whether it holds for one of the sessions. */
  some(holds: (session: string) => boolean): boolean {
    const isHeld = ({ session }: SessionReader): boolean => holds(session);
    return (
      (this.readers?.some(isHeld) ?? false) || (this.resumer !== undefined && isHeld(this.resumer))
    );
  }

  close(): void {
    this.open = false;
    this.resumer?.stop();
    for (const reader of this.readers ?? []) reader.stop();
    this.readers = undefined;
  }

  begin(reader: SessionReader, start: StreamStart): void {
    if (reader !== this.resumer) return;
    const { gap, top } = start;
    this.mine = { epoch: top.epoch, after: gap && "to" in gap ? gap.to : 0 };
    this.owner.begin(start);
  }

  take(reader: SessionReader, entry: SequencedEntry): void {
    const isMine = reader === this.resumer;
    if (!isMine && this.readers && this.readers.length > 1) this.touch(reader.session);
    this.owner.send(
      isMine && entry.numbered ? frameWithPositionOnce(entry) : frameWithoutPosition(entry),
      entry,
    );
  }

  failed(error: unknown): void {
    this.owner.failed(error);
  }

  private touch(session: string): boolean {
    const { readers } = this;
    if (readers === undefined) return false;
    const last = readers.length - 1;
    if (readers[last]?.session === session) return true;
    const at = readers.findIndex((reader) => reader.session === session);
    if (at === -1) return false;
    readers.push(...readers.splice(at, 1));
    return true;
  }
}
