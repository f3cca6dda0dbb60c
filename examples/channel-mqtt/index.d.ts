import type { Plugin } from "doorward";
import type { Channels } from "doorward/plugins/channels";
import type { Tokens, TokenSecrets } from "doorward/plugins/token-store";

export interface MqttConfig {
  /** `mqtt://host:port` or `mqtts://host:port`. */
  readonly url: string;
  /** Its password is the token `mqtt`. */
  readonly user: string;
  /** First levels of all topics. */
  readonly prefix: string;
  /** Names the session that the broker keeps while we are away. */
  readonly client_id: string;
  /** Path of the certificate of the broker's authority; empty: those of the system. */
  readonly ca_file: string;
}

/** Topics of an MQTT broker as a channel. */
export default function mqtt(): Plugin<{
  config: MqttConfig;
  needs: { channels: Channels; tokens: Tokens; tokenSecrets: TokenSecrets };
}>;
