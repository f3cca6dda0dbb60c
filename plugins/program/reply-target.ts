// Finds the session that a line of the program refers to, and counts the lines that are dropped.
import type { Log } from "../../kernel/index.ts";
import type { Address } from "../channels/index.ts";
import type { PendingMessage } from "./pending-entry.ts";
import type { PendingMessages } from "./pending-messages.ts";
import { endsReply, type MessageFrame } from "./protocol.ts";

/** Names that are remembered, so that later lines about them are dropped silently. */
const maxNames = 4_096;

/** Lines about stopped messages. */
export class DroppedLines {
  /** Names of messages that were never sent, because their request was stopped before. */
  private readonly names = new Set<string>();
  private total = 0;

  count(): number {
    return this.total;
  }

  /** Counts a line. `name`: the message that it would have created. */
  add(name?: string): void {
    this.total += 1;
    if (name !== undefined) this.remember(name);
  }

  /** Drops later updates of this name. */
  remember(name: string): void {
    this.names.add(name);
    if (this.names.size > maxNames) this.names.delete(this.names.keys().next().value!);
  }

  has(name: string): boolean {
    return this.names.has(name);
  }

  /** The program uses the name for a new message. */
  forget(name: string): void {
    this.names.delete(name);
  }

  clear(): void {
    this.names.clear();
  }
}

export interface FrameAddress {
  readonly channel?: string | undefined;
  readonly session_id?: string | undefined;
}

export interface ReplyTarget {
  readonly request: PendingMessage | undefined;
  readonly address: Address;
}

interface TargetOptions {
  readonly pendingMessages: PendingMessages;
  readonly log: Pick<Log, "warn">;
  readonly dropped: DroppedLines;
  /** @returns True if the program answers in parts. */
  readonly hasParts: () => boolean;
}

/** @returns The session of the message that a frame refers to, or the session it names. */
export function findTarget(
  { pendingMessages, log, dropped, hasParts }: TargetOptions,
  frame: MessageFrame,
  { channel = "pico", session_id: session }: FrameAddress,
  requestId?: string,
): ReplyTarget | undefined {
  if (requestId !== undefined) {
    const request = pendingMessages.find(requestId);
    if (request) return { request, address: request.message };
    const finished = pendingMessages.findFinished(requestId);
    if (finished?.outcome === "answered") return { request: undefined, address: finished.address };
    if (finished?.outcome === "stopped") {
      dropped.add(frame.type === "message.create" ? frame.payload.message_id : undefined);
      if (endsReply(frame, hasParts())) pendingMessages.endedLate(requestId);
      return undefined;
    }
    log.warn(
      { request_id: requestId },
      "the program replied to an unknown message or to one that has failed",
    );
    return undefined;
  }
  if (session !== undefined) return { request: undefined, address: { channel, session } };
  log.warn({}, 'the program named neither "request_id" nor "session_id"');
  return undefined;
}
