import type { ServerFrame, ServerMessage } from "../pico-wire/index.ts";
import * as bounds from "./bounds.ts";
import * as timing from "./timing.ts";
import { set, tell, type Run } from "./run.ts";
import type { LinkMessage } from "./types.ts";

/* Answers come in pieces: a create, then updates with the full text so far. A server of extension 1 marks the last
 * piece, be it the first; of others an answer is whole at `typing.stop` or when nothing more came for three seconds.
 * Placeholders, thoughts and tool calls are no answers. */

type MessageFrame = Extract<
  ServerFrame,
  { type: "message.create" | "message.update" | "media.create" }
>;

const isAside = ({ placeholder, thought, kind }: ServerMessage): boolean =>
  (placeholder ?? thought ?? kind) !== undefined;

/** Servers of the field say seconds. */
const millis = (timestamp: number | undefined, now: number): number =>
  timestamp === undefined ? now : timestamp < 1e11 ? timestamp * 1_000 : timestamp;

export function assemble(run: Run, frame: MessageFrame, isExtension: boolean): void {
  const { payload } = frame;
  if (isAside(payload)) return;
  const isNameless = !payload.message_id;
  const message: LinkMessage = {
    id: payload.message_id || frame.id || `${run.now}-${run.random}`,
    content: payload.content,
    ...(payload.request_id && { requestId: payload.request_id }),
    attachments: payload.attachments ?? [],
    at: millis(frame.timestamp, run.now),
    final: payload.final === true || isNameless || (!isExtension && frame.type === "media.create"),
  };
  forget(run, message.id);
  if (message.final) return whole(run, message);
  tell(run, "onUpdate", message);
  const wholeAt = isExtension ? Infinity : run.now + timing.silence;
  set(run, { parts: [...run.core.parts, { message, wholeAt }].slice(-bounds.parts) });
}

function whole(run: Run, message: LinkMessage): void {
  const final = { ...message, final: true };
  tell(run, "onUpdate", final);
  tell(run, "onMessage", final);
}

export function forget(run: Run, id: string): void {
  set(run, { parts: run.core.parts.filter(({ message }) => message.id !== id) });
}

/** Nothing more is expected of the answers that were due before. */
export function complete(run: Run, before: number): void {
  const { parts } = run.core;
  set(run, { parts: parts.filter(({ wholeAt }) => wholeAt >= before) });
  for (const { message, wholeAt } of parts) if (wholeAt < before) whole(run, message);
}
