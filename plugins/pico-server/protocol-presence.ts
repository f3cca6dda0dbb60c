// Keeps the session of a protocol request connected, and follows what other nodes append to it.
import type { Cursor, SequencedEntry, SessionLog, Subscriber } from "../conversations/index.ts";
import { toProtocolCall, type ProtocolCall } from "./protocol-frames.ts";
import { frameTypeOf, memoizeLast } from "./frame-encoding.ts";

interface PresenceOptions {
  readonly sessions: SessionLog;
  readonly session: string;
  /** Runs a call after everything before it. */
  readonly tell: (call: ProtocolCall) => void;
}

const callOnce = memoizeLast(({ session, frame }) => toProtocolCall(session, frame));

/** The subscriber receives the messages of this node before they are encoded, so not from here. */
export class ProtocolPresence implements Subscriber {
  private readonly options: PresenceOptions;
  /** The position of the latest entry that was heard. */
  private cursor: Cursor | undefined;
  /** Calls that wait until what was missed before them is read. */
  private held: ProtocolCall[] | undefined;

  constructor(options: PresenceOptions) {
    this.options = options;
  }

  /** Resolves when everything that any node appends is heard. */
  async join(): Promise<void> {
    const { sessions, session } = this.options;
    const ends = sessions.isShared === true;
    await sessions.subscribe(session, this, { resumes: true, ends });
  }

  /** Joins again, because the session has a new epoch, and reads what was missed. */
  async rejoin(): Promise<void> {
    const { sessions, session, tell } = this.options;
    const { cursor } = this;
    this.held ??= [];
    try {
      await this.join();
      const { frames, partials, ends = [] } = await sessions.readAfter(session, cursor);
      const calls = [...frames, ...partials, ...ends].map((frame) =>
        toProtocolCall(session, frame),
      );
      for (const call of calls) if (call) tell(call);
    } finally {
      const { held } = this;
      this.held = undefined;
      for (const call of held ?? []) tell(call);
    }
  }

  leave(): void {
    const { sessions, session } = this.options;
    sessions.unsubscribe(session, this);
  }

  onEntry(entry: SequencedEntry): void {
    this.cursor = entry.cursor;
    if (!entry.isForeign || frameTypeOf(entry).startsWith("typing.")) return;
    const call = callOnce(entry);
    if (call && this.held) this.held.push(call);
    else if (call) this.options.tell(call);
  }
}
