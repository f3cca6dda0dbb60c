// The service and the shape of the ai-sdk plugin.
import type { Channels } from "../../channels/index.ts";
import type { ProtocolEvents } from "../index.ts";
import type { Http } from "../../http/index.ts";
import type { MediaFiles } from "../../media/index.ts";
import type { PicoServer } from "../../pico-server/index.ts";
import type { Settings } from "../../settings/index.ts";
import type { Tokens } from "../../token-store/index.ts";
import type { AiSdkConfig, AiSdkInput } from "./config.ts";

/** The state of the plugin. */
export interface AiSdk {
  /** Returns whether the protocol is on. */
  status(): {
    readonly enabled: boolean;
    /** Base URL, ending in `/ai`; undefined while the protocol is off or no port is open. The
     *  option `api` of `DefaultChatTransport` is this URL with `/chat`. */
    readonly url: string | undefined;
  };
}

/** The plugin's configuration, events and services. */
export type AiSdkShape = {
  /** The validated section `channels.ai_sdk`. */
  config: AiSdkConfig;
  /** The section as users write it: every field is optional. */
  section: { "channels.ai_sdk": AiSdkInput };
  /** A replaced or removed token ends the responses in progress. */
  listens: ProtocolEvents;
  /** The token store, the http plugin for the routes, the channels for messages and history. */
  needs: { tokens: Tokens; http: Http; picoServer: PicoServer; channels: Channels };
  /** The settings service, which can turn the protocol on while the kernel runs, and the files of
   *  messages. */
  uses: { settings: Settings; media: MediaFiles };
  /** The state of the plugin. */
  offers: { aiSdk: AiSdk };
};
