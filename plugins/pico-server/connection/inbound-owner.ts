// The connection, as its inbound frames use it. Types only.
import type { CloseName, ServerFrame } from "../../../lib/pico-wire/index.ts";
import type { QuestionVia, Sender } from "../../channels/index.ts";
import type { Features } from "../session/features.ts";
import type { SessionScope } from "../session/session-scope.ts";
import type { Subscriptions } from "../session/subscriptions.ts";
import type { DeliverMessage } from "./context.ts";

/** The connection that owns these frames. */
export interface InboundOwner {
  /** The session of frames that have no `session_id`. */
  readonly session: string;
  readonly sender: Sender;
  /** Where its answers to questions come from; undefined if it cannot answer. */
  readonly via: QuestionVia | undefined;
  /** Undefined if a sign-in authenticated the client instead of the channel token. */
  readonly tokenVersion: number | undefined;
  /** Undefined: every session. */
  readonly scope: SessionScope | undefined;
  /** The client receives acknowledgements, and repeated messages are delivered once. */
  readonly acknowledges: boolean;
  readonly features: Features;
  /** The turns that this client wrote. Used only for clients that asked for turns. */
  readonly turns: Pick<Subscriptions, "expectTurn" | "takeTurn" | "dropTurn">;
  /** The client has received everything up to this sequence number. */
  acknowledged(seq: number): void;
  deliver(...message: Parameters<DeliverMessage>): void;
  respond(frame: ServerFrame): void;
  close(name: CloseName, retryMs?: number): void;
  /** The server failed to process a frame. */
  failed(error: unknown): void;
  /** True if the connection has used this session before. */
  usesSession(session: string): boolean;
  /** A frame contained this session id. */
  use(session: string): void;
  /** True while so many frames wait for the client that it should read them first. */
  isCongested(): boolean;
  /** Pauses reading, or resumes it. */
  pause(isPaused: boolean): void;
  /** Checks the connection once a second from now on. */
  scheduleCheck(): void;
}
