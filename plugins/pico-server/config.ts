import * as z from "zod";
import { isOriginPattern } from "./handshake/origins.ts";
import type { Rate } from "./connection/rate-limit.ts";

const MiB = 1024 * 1024;
/** As a page shows a setting: a name, a sentence without unit and default, which stand beside it. */
const settingMeta = (title: string, description: string, unit?: string) => ({
  editable: true,
  title,
  description,
  ...(unit !== undefined && { unit }),
});

/** Zero and negative numbers mean the default, as in the configurations of older servers. */
const secondsSetting = (standard: number, title: string, description: string) =>
  z
    .int()
    .max(86_400)
    .overwrite((value) => (value > 0 ? value : standard))
    .default(standard)
    .meta(settingMeta(title, description, "seconds"));

const origin = z
  .string()
  .max(300)
  .refine(
    isOriginPattern,
    "expected an origin (https://app.example.org), https://*.example.org, self, null or *",
  );

/** The section `channels.pico`; the token is none of its fields, the token store holds it. */
export const picoSchema = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .meta(settingMeta("Channel on", "Programs can connect to this service.")),
  allow_token_query: z
    .boolean()
    .default(false)
    .meta(
      settingMeta(
        "Token in the address",
        "Clients may send it in the URL too, where logs and histories keep it.",
      ),
    ),
  allow_origins: z
    .array(origin)
    .max(1_000)
    .default([])
    .meta(
      settingMeta(
        "Allowed origins",
        "Only web pages of these origins may use the channel. An empty list lets all of them.",
      ),
    ),
  ping_interval: secondsSetting(30, "Ping interval", "Time between two pings to a client."),
  read_timeout: secondsSetting(
    60,
    "Read timeout",
    "A client that was not heard for this long is disconnected.",
  ),
  write_timeout: secondsSetting(
    60,
    "Write timeout",
    "A client that takes nothing of what waits for it for this long is disconnected.",
  ),
  max_connections: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(100)
    .meta(settingMeta("Most connections", "At one time. Whoever comes after them is refused.")),
  max_payload: z
    .int()
    .min(1024)
    .max(256 * MiB)
    .default(32 * MiB)
    .meta(
      settingMeta("Largest message", "Of a client. A larger one ends its connection.", "bytes"),
    ),
  message_rate: z
    .number()
    .min(0)
    .max(1_000_000)
    .default(100)
    .meta(
      settingMeta(
        "Message rate",
        "Of each client, over time. 0 lifts the limit.",
        "messages per second",
      ),
    ),
  message_burst: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(200)
    .meta(
      settingMeta("Message burst", "How many may come at once. 0 lifts the limit.", "messages"),
    ),
  drain_timeout: z
    .number()
    .min(0)
    .max(300)
    .default(5)
    .meta(
      settingMeta(
        "Time to leave",
        "A stop waits at most this long for messages being answered, and closes clients one " +
          "after the other. 0 closes all at once.",
        "seconds",
      ),
    ),
  reconnect_rate: z
    .int()
    .min(1)
    .max(100_000)
    .default(300)
    .meta(
      settingMeta(
        "Reconnect rate",
        "So many are asked to come back after a stop or a new token.",
        "clients per second",
      ),
    ),
});

export type PicoServerConfig = z.output<typeof picoSchema>;
/** The section as users write it. */
export type PicoServerInput = z.input<typeof picoSchema>;

const messageRate = ({ message_rate, message_burst }: PicoServerConfig): Rate => ({
  perSecond: message_rate,
  burst: message_burst,
});

/** The rate as it is set now, made once for each configuration. */
export function messageRateOf(config: () => PicoServerConfig): () => Rate {
  let seen = config();
  let rate = messageRate(seen);
  return () => {
    const current = config();
    if (current !== seen) rate = messageRate((seen = current));
    return rate;
  };
}

/** Milliseconds between two pings: below the time after which the peer would be given up. */
export const pingEveryMs = ({ ping_interval, read_timeout }: PicoServerConfig): number =>
  (ping_interval < read_timeout ? ping_interval : read_timeout / 2) * 1_000;
