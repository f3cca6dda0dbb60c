// The service, options and events of the pico client.
import type { Release } from "../../kernel/index.ts";
import type {
  ChatAnswer,
  ChatAnswered,
  ChatHandlers,
  ChatMessage,
  ChatState,
  HistoryOptions,
  HistoryPage,
  MediaLimits,
  StoppedAnswer,
} from "../../lib/pico-link/index.ts";
import type { Channels, OutboundMessage, Receipt } from "../channels/index.ts";
import type { TokenSecrets, TokenStoreEvents, Tokens } from "../token-store/index.ts";
import type { PicoClientConfig, PicoClientInput } from "./config.ts";

/** Service to send to the server and to receive from it. */
export interface PicoLink {
  /**
   * Sends a message.
   *
   * @param message.id - Identifier of the message at the server. @defaultValue a new one
   * @returns `delivered` when the server confirms the message, or `written` when the message was
   * written to the socket of a server that never confirms.
   * @throws outbox_full if 1,000 messages or 4 MiB wait for the server.
   * @throws too_large if the message is larger than the server accepts.
   * @throws not_running if the client is off or stopping.
   * @throws unsupported if the message is a thought, a placeholder, or has an attachment without
   * bytes.
   * @throws undeliverable with the code of the server in `details.code`, or if the server did not
   * confirm the message within five minutes.
   */
  send(message: OutboundMessage & { readonly id?: string }): Promise<Receipt>;
  /** @returns `idle` if the client is off. */
  state(): ChatState | "idle";
  /** @returns The session at the server, or undefined while there is no link. */
  session(): string | undefined;
  /** @returns True if the server reports the end of each answer, for `onEnd`. */
  reportsEnds(): boolean;
  /**
   * Stops the answer to a message, or all of the session, as `stop` of the client library.
   *
   * @throws ChatError `unsupported`, `expired` or `closed`.
   * @throws not_running if the client is off.
   */
  stop(requestId?: string): Promise<readonly StoppedAnswer[]>;
  /**
   * Answers a question of the server, as `answer` of the client library.
   *
   * @throws ChatError `not_sent`, `unconfirmed` or `unsupported`.
   * @throws not_running if the client is off.
   */
  answer(questionId: string, answer: ChatAnswer): Promise<ChatAnswered>;
  /**
   * Reads what was said in the conversation, as `history` of the client library.
   *
   * @throws ChatError `history_unavailable`, or a code of the server.
   * @throws not_running if the client is off.
   */
  history(options?: HistoryOptions): Promise<HistoryPage>;
  /**
   * Fetches an attachment of a message, as `fetchMedia` of the client library.
   *
   * @throws ChatError `media_too_large` or `media_unavailable`.
   * @throws not_running if the client is off.
   */
  fetchMedia(attachment: ChatMessage["attachments"][number], limits?: MediaLimits): Promise<Blob>;
  /** Shows or hides the typing indicator at the server. */
  typing(on: boolean): void;
  /** Subscribes to messages, updates, typing, gaps and state changes of the link. */
  listen(handlers: ChatHandlers): Release;
}

/** Options of `picoClient`. */
export interface PicoClientOptions {
  /** The session. @defaultValue the one stored for this address in `home`, or a new one */
  readonly sessionId?: string;
  /**
   * Folder in whose `state/pico-client.json` sessions are stored.
   * @defaultValue none: the session lasts as long as this process
   */
  readonly home?: string;
  /** Separates several sessions with the same address. @defaultValue `""` */
  readonly profile?: string;
  /**
   * Environment with `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper or lower
   * case. @defaultValue `{}`
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Milliseconds without an update after which a message is assumed to be complete, for servers
   * that do not mark the end. At most one hour. @defaultValue 30,000
   */
  readonly silenceMs?: number;
  /** Prefix of the environment variables named in error messages. @defaultValue `"SERVICE"` */
  readonly envPrefix?: string;
  /**
   * Returns the address in the files of the home, which the environment or the command line may
   * override. A token in these files is sent to the origin of that address only.
   * @defaultValue none: the token is sent to any address
   */
  readonly filedUrl?: () => Promise<string | undefined>;
}

/** Types of the pico client for the kernel. */
export interface PicoClientShape {
  /** The validated section `channels.pico_client`. */
  readonly config: PicoClientConfig;
  /** The section as users write it: every field is optional. */
  readonly section: { "channels.pico_client": PicoClientInput };
  /** Changes of the link state. */
  readonly emits: PicoClientEvents;
  /** A rotated token `pico_client` reconnects the link. */
  readonly listens: Pick<TokenStoreEvents, "token-store:rotated">;
  /** The token store, for the token of the server. */
  readonly needs: { tokens: Tokens; tokenSecrets: TokenSecrets };
  /** With the channels service, the client is a channel: its messages reach the application. */
  readonly uses: { channels: Channels };
  /** Sends to the server and receives from it. */
  readonly offers: { picoLink: PicoLink };
}

/** Events of the pico client. */
export type PicoClientEvents = {
  /** The link changed its state. `attempt`: consecutive failures; `reason`: a code. */
  "pico-client:link-changed": {
    from: ChatState | "idle";
    to: ChatState;
    attempt: number;
    reason: string;
  };
};
