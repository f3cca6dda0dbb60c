import type { Plugin } from "doorward";
import type { Channels } from "doorward/plugins/channels";
import type { Tokens, TokenSecrets } from "doorward/plugins/token-store";

export interface MqttConfig {
  /** `mqtt://host:port` or `mqtts://host:port`. */
  readonly url: string;
  /** User name; the token `mqtt` is the password. */
  readonly user: string;
  /** First level of all topics. */
  readonly prefix: string;
  /** Identifies the session that the broker keeps while this client is away. */
  readonly client_id: string;
  /** Path of a CA certificate (PEM); empty = the certificates of the system. */
  readonly ca_file: string;
}

/** Creates the plugin that offers MQTT topics as a channel. */
export default function mqtt(): Plugin<{
  config: MqttConfig;
  needs: { channels: Channels; tokens: Tokens; tokenSecrets: TokenSecrets };
}>;
