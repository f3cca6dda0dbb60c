import type { Release } from "../../kernel/index.ts";
import type { LinkHandlers, LinkState } from "../../lib/pico-link/index.ts";
import type { Channels, OutboundMessage, Receipt } from "../channels/index.ts";
import type { TokenSecrets, TokenStoreEvents, Tokens } from "../token-store/index.ts";
import type { PicoClientConfig, PicoClientInput } from "./config.ts";

export interface PicoLink {
  /** Resolves when the other end confirmed the message (`delivered`), or when it left for one that confirms nothing
   *  (`written`). Rejects `outbox_full`, `too_large`, `not_running`, `unsupported`, or `undeliverable` with the reason:
   *  what the other end answered, or that nobody confirmed it for five minutes. `id`: the name of the message at the
   *  other end; unset: a new one. */
  send(message: OutboundMessage & { readonly id?: string }): Promise<Receipt>;
  state(): LinkState;
  /** The conversation at the other end. Undefined while there is no link. */
  session(): string | undefined;
  typing(on: boolean): void;
  /** What comes from the other end as it comes: texts that grow, typing, gaps, changes of the link. */
  listen(handlers: LinkHandlers): Release;
}

export interface PicoClientOptions {
  /** The conversation; unset: the one kept for this address in the home, or a new one. */
  readonly sessionId?: string;
  /** Conversations are kept in `state/pico-client.json` of this folder; unset: for this process only. */
  readonly home?: string;
  /** Keeps conversations with one address apart; default "". */
  readonly profile?: string;
  /** `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, in either case. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Milliseconds without an update after which a message is assumed to be complete, for servers that do not mark the
   *  end. At most one hour. @defaultValue 30,000 */
  readonly silenceMs?: number;
  /** Start of environment variables that sentences name; default `SERVICE`. */
  readonly envPrefix?: string;
}

export interface PicoClientShape {
  readonly config: PicoClientConfig;
  readonly section: { "channels.pico_client": PicoClientInput };
  readonly emits: PicoClientEvents;
  readonly listens: Pick<TokenStoreEvents, "token-store:rotated">;
  readonly needs: { tokens: Tokens; tokenSecrets: TokenSecrets };
  readonly uses: { channels: Channels };
  readonly offers: { picoLink: PicoLink };
}

export type PicoClientEvents = {
  /** The link moved. `attempt`: failures in a row; `reason`: a code. */
  "pico-client:link-changed": { from: LinkState; to: LinkState; attempt: number; reason: string };
};
