// The service and the shape of the openai plugin.
import type { ProtocolEvents } from "../index.ts";
import type { Channels } from "../../channels/index.ts";
import type { Http } from "../../http/index.ts";
import type { MediaFiles } from "../../media/index.ts";
import type { PicoServer } from "../../pico-server/index.ts";
import type { Settings } from "../../settings/index.ts";
import type { Tokens } from "../../token-store/index.ts";
import type { OpenaiConfig, OpenaiInput } from "./config.ts";
import type { TaskKind } from "./tasks.ts";

/** The state of the plugin. */
export interface Openai {
  /** Returns whether the protocol is on, and the counters since startup. */
  status(): {
    readonly enabled: boolean;
    /** Base URL for clients, with `/v1`; undefined while the protocol is off or no port is open. */
    readonly url: string | undefined;
    /** The model name that clients send. */
    readonly model: string;
    /** Requests for titles and the like, by kind. */
    readonly tasks: Readonly<Record<TaskKind, number>>;
  };
}

/** The plugin's configuration, events and services. */
export type OpenaiShape = {
  /** The validated section `channels.openai`. */
  config: OpenaiConfig;
  /** The section as users write it: every field is optional. */
  section: { "channels.openai": OpenaiInput };
  /** A replaced or removed token ends the responses in progress. */
  listens: ProtocolEvents;
  /** The token store, the http plugin for the routes, the channel for messages, and the service
   *  that knows the application and reads the conversation. */
  needs: { tokens: Tokens; http: Http; picoServer: PicoServer; channels: Channels };
  /** The settings service, which can turn the protocol on while the kernel runs, and the files of
   *  messages. */
  uses: { settings: Settings; media: MediaFiles };
  /** The state of the plugin. */
  offers: { openai: Openai };
};
