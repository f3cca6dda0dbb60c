import type { Plugin } from "doorward";
import type { Channels } from "doorward/plugins/channels";
import type { Tokens, TokenSecrets } from "doorward/plugins/token-store";

export interface TelegramConfig {
  /** Ids of the Telegram users who may write to the bot. Empty = none. */
  readonly allow: readonly string[];
  /** Address of the Bot API. */
  readonly api_url: string;
  /** Shortest time between two edits of one message, in milliseconds. */
  readonly edit_interval_ms: number;
}

/** Creates the plugin that offers a Telegram bot as a channel. */
export default function telegram(): Plugin<{
  config: TelegramConfig;
  needs: { channels: Channels; tokens: Tokens; tokenSecrets: TokenSecrets };
}>;
