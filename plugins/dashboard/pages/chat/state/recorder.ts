/** Records the frames of the newest requests for the inspector. @module */
import { serverNow } from "../../live/clock.ts";

/** A frame as it was on the wire. */
export interface RecordedFrame {
  readonly direction: "in" | "out";
  readonly type: string;
  /** Unix milliseconds. */
  readonly at: number;
  /** Bytes in UTF-8. */
  readonly bytes: number;
  /** The frame, or its beginning if it is long. */
  readonly text: string;
}

/** All frames of one message and of its answer, oldest first. */
export interface RecordedRequest {
  readonly id: string;
  readonly session: string;
  readonly frames: readonly RecordedFrame[];
  /** Frames in the middle that were dropped. */
  readonly dropped: number;
}

const maxRequests = 200;
const maxFrames = 300;
const maxText = 64 * 1024;
const encoder = new TextEncoder();

interface Frame {
  readonly type?: string;
  readonly id?: string;
  readonly payload?: { readonly request_id?: string; readonly message_id?: string };
}

function parse(text: string): Frame {
  try {
    return JSON.parse(text) as Frame;
  } catch {
    return {};
  }
}

/** Records the newest requests of one page. */
export class Recorder {
  private readonly requests = new Map<
    string,
    { id: string; session: string; frames: RecordedFrame[]; dropped: number }
  >();
  /** Growing messages carry only their own id. */
  private readonly requestOfMessage = new Map<string, string>();
  private readonly now: () => number;

  /** @param now - Returns Unix milliseconds. */
  constructor(now: () => number) {
    this.now = now;
  }

  record(session: string, direction: "in" | "out", text: string): void {
    const { requests, requestOfMessage } = this;
    const {
      type = "",
      id: own,
      payload: { request_id: named, message_id: message } = {},
    } = parse(text);
    const request = type === "message.send" ? own : named;
    const id = request ?? (message && requestOfMessage.get(message));
    if (!id) return;
    if (message && request) requestOfMessage.set(message, request);
    const known = requests.get(id) ?? { id, session, frames: [], dropped: 0 };
    requests.set(id, known);
    known.frames.push({
      direction,
      type,
      at: this.now(),
      bytes: encoder.encode(text).length,
      text: text.slice(0, maxText),
    });
    if (known.frames.length > maxFrames) known.dropped += known.frames.splice(20, 1).length;
    for (const oldest of requests.keys()) {
      if (requests.size <= maxRequests) break;
      requests.delete(oldest);
      for (const [name, owner] of requestOfMessage)
        if (owner === oldest) requestOfMessage.delete(name);
    }
  }

  /** @returns Undefined if the request is too old or was made before the page was loaded. */
  find(id: string): RecordedRequest | undefined {
    return this.requests.get(id);
  }

  /** The newest request of a conversation. */
  newest(session: string): RecordedRequest | undefined {
    return [...this.requests.values()].findLast((one) => one.session === session);
  }
}

/** Records all conversations of this page. */
export const recorder = new Recorder(serverNow);
