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

/** The recorded requests of this page. */
interface Recorder {
  record(session: string, direction: "in" | "out", text: string): void;
  /** @returns Undefined if the request is too old or was made before the page was loaded. */
  find(id: string): RecordedRequest | undefined;
  /** The newest request of a conversation. */
  newest(session: string): RecordedRequest | undefined;
}

const maxRequests = 200;
const maxFrames = 300;
const maxText = 64 * 1024;
/** Long frames are not parsed as a whole: their ids are near the start. */
const maxHead = 4 * 1024;
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

const fieldOf = (text: string, name: string): string | undefined =>
  new RegExp(`"${name}":"([^"\\\\]{1,256})"`).exec(text.slice(0, maxHead))?.[1];

function identify(text: string): { type: string; request?: string; message?: string } {
  const isLong = text.length > maxText;
  const frame: Frame = isLong
    ? { type: fieldOf(text, "type") ?? "", id: fieldOf(text, "id") ?? "" }
    : parse(text);
  const { type = "", payload = {} } = frame;
  const message = isLong ? fieldOf(text, "message_id") : payload.message_id;
  const named = isLong ? fieldOf(text, "request_id") : payload.request_id;
  const request = type === "message.send" ? frame.id : named;
  return { type, ...(request && { request }), ...(message && { message }) };
}

/** Creates a recorder for one page. `now` returns Unix milliseconds. */
export function createRecorder(now: () => number): Recorder {
  const requests = new Map<
    string,
    { id: string; session: string; frames: RecordedFrame[]; dropped: number }
  >();
  /** Growing messages carry only their own id. */
  const requestOfMessage = new Map<string, string>();

  return {
    record(session, direction, text) {
      const { type, request, message } = identify(text);
      const id = request ?? (message && requestOfMessage.get(message));
      if (!id) return;
      if (message && request) requestOfMessage.set(message, request);
      const known = requests.get(id) ?? { id, session, frames: [], dropped: 0 };
      if (!requests.has(id)) requests.set(id, known);
      known.frames.push({
        direction,
        type,
        at: now(),
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
    },
    find: (id) => requests.get(id),
    newest: (session) => [...requests.values()].findLast((one) => one.session === session),
  };
}

/** Records all conversations of this page. */
export const recorder: Recorder = createRecorder(serverNow);
