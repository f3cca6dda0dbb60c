// The ends of answers, for clients that asked for them. A client that resumes receives the latest.
import type { AnswerEndFrame, AnswerEndPayload } from "../../../lib/pico-wire/index.ts";
import type { AnswerEnd, Usage } from "../../channels/index.ts";

/** Sessions whose ends are kept, and ends of one session. */
const maxSessions = 1_024;
const maxEnds = 32;

const toUsage = ({ input, output, reasoning, cached }: Usage): object => ({
  input_tokens: input,
  output_tokens: output,
  reasoning_tokens: reasoning,
  cached_tokens: cached,
});

const toPayload = (id: string, end: AnswerEnd): AnswerEndPayload => ({
  request_id: id,
  outcome: end.outcome,
  ...(end.code !== undefined && { code: end.code }),
  finish_reason: end.finishReason,
  ...(end.usage && { usage: toUsage(end.usage) }),
});

interface RecentEnd {
  readonly frame: AnswerEndFrame;
  readonly at: number;
}

/** Sessions without an interested client cost nothing: their ends are not even encoded. */
export class RecentEnds {
  private readonly keepMs: number;
  /** Least recently watched first. */
  private readonly sessions = new Map<string, RecentEnd[]>();

  /** @param keepMs - How long a client may be away and still receive what it missed. */
  constructor(keepMs: number) {
    this.keepMs = keepMs;
  }

  /** A client of this session asked for the ends of answers. */
  watch(session: string): void {
    const ends = this.sessions.get(session) ?? [];
    this.sessions.delete(session);
    this.sessions.set(session, ends);
    const [oldest] = this.sessions.size > maxSessions ? this.sessions.keys() : [];
    if (oldest !== undefined) this.sessions.delete(oldest);
  }

  /** @returns The frame to send; undefined if no client has asked for it. */
  add(session: string, id: string, end: AnswerEnd, now: number): AnswerEndFrame | undefined {
    const ends = this.sessions.get(session);
    if (!ends) return undefined;
    const payload = toPayload(id, end);
    const frame: AnswerEndFrame = { type: "answer.end", session_id: session, payload };
    ends.push({ frame, at: now });
    if (ends.length > maxEnds) ends.shift();
    return frame;
  }

  /** @returns The frames that a returning client may have missed, oldest first. */
  recent(session: string, now: number): readonly AnswerEndFrame[] {
    const ends = this.sessions.get(session) ?? [];
    return ends.filter(({ at }) => now - at <= this.keepMs).map(({ frame }) => frame);
  }
}
