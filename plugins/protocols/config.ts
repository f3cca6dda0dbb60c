// Settings that all plugins with an HTTP protocol of their own have.
import * as z from "zod";
import { enabledByDefault, originSetting, settingMeta } from "../pico-server/config.ts";

export { settingMeta };

const MiB = 1024 * 1024;

/** The fields that such a section shares with the others. */
export const commonSettings = {
  enabled: z
    .boolean()
    .default(false)
    .meta(settingMeta("Protocol on", "Accepts requests of clients.")),
  sessions: z
    .enum(["own", "shared"])
    .default("own")
    .meta(
      settingMeta(
        "Sessions",
        "own: clients reach only the sessions of this protocol. " +
          "shared: they reach every session of the pico channel.",
      ),
    ),
  answer_s: z
    .int()
    .min(1)
    .max(86_400)
    .default(600)
    .meta(settingMeta("Longest reply", "Longer replies are stopped.", "seconds")),
  max_requests: z
    .int()
    .min(1)
    .max(100_000)
    .default(32)
    .meta(settingMeta("Maximum requests", "Further parallel requests are rejected.")),
  max_body: z
    .int()
    .min(1024)
    .max(256 * MiB)
    .default(32 * MiB)
    .meta(settingMeta("Maximum request size", "Larger requests are rejected.", "bytes")),
  max_inline_mb: z
    .int()
    .min(1)
    .max(256)
    .default(10)
    .meta(settingMeta("Maximum file in a request", "Larger files must be uploaded before.", "MiB")),
  message_rate: z
    .number()
    .min(0)
    .max(1_000_000)
    .default(100)
    .meta(
      settingMeta(
        "Request rate",
        "How many requests each address may send over time. 0 removes the limit.",
        "requests per second",
      ),
    ),
  message_burst: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(200)
    .meta(
      settingMeta(
        "Request burst",
        "How many requests each address may send in a burst. 0 removes the limit.",
        "requests",
      ),
    ),
  write_timeout: z
    .int()
    .min(1)
    .max(86_400)
    .default(60)
    .meta(
      settingMeta(
        "Write timeout",
        "Clients that read no queued data for this long are disconnected.",
        "seconds",
      ),
    ),
  allow_origins: z
    .array(originSetting)
    .max(1_000)
    .default([])
    .meta(
      settingMeta(
        "Allowed origins",
        "Only web pages of these origins can send requests. An empty list allows none.",
      ),
    ),
} as const;

/** In the list of a host, the plugin is on unless the section says otherwise. */
export const onByDefault = { enabled: enabledByDefault(commonSettings.enabled) };

/** Whether a client that closes its connection stops the reply. */
type Disconnect = "stop" | "keep";

/** The setting `disconnect`, whose default depends on the usual clients of the protocol. */
export const disconnectSetting = (standard: Disconnect) =>
  z
    .enum(["stop", "keep"])
    .default(standard)
    .meta(
      settingMeta(
        "Closed connection",
        "stop: a client that closes its connection stops the reply. keep: the reply continues.",
      ),
    );

/** The values that the shared code reads from every such section. */
export type CommonConfig = z.output<z.ZodObject<typeof commonSettings>> & {
  readonly disconnect: Disconnect;
};
