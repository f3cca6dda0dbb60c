import * as z from "zod";
import { isOriginPattern } from "./origins.ts";
import type { Rate } from "./rates.ts";

const MiB = 1024 * 1024;
const editable = { editable: true } as const;

/** Zero and negative numbers mean the default, as in the configurations of older servers. */
const seconds = (standard: number, text: string) =>
  z.int().max(86_400).overwrite((value) => (value > 0 ? value : standard)).default(standard)
    .describe(`${text}, in seconds; default ${standard}, also for 0 and less`).meta(editable);

const origin = z.string().max(300).refine(
  isOriginPattern,
  "expected an origin (https://app.example.org), https://*.example.org, self, null or *",
);

/** The section `channels.pico`; the token is none of its fields, the token store holds it. */
export const picoSchema = z.strictObject({
  enabled: z.boolean().default(false).describe("serves the channel; default false").meta(editable),
  allow_token_query: z.boolean().default(false)
    .describe("takes the token in the URL as well, where logs and histories keep it; default false").meta(editable),
  allow_origins: z.array(origin).max(1_000).default([])
    .describe("web pages of these origins may use the channel; default [], which lets all of them").meta(editable),
  ping_interval: seconds(30, "time between two pings"),
  read_timeout: seconds(60, "a connection that was not heard for this long is closed"),
  write_timeout: seconds(60, "a connection that took nothing of what waits for it for this long is closed"),
  max_connections: z.int().min(1).max(1_000_000).default(100)
    .describe("connections at one time; default 100").meta(editable),
  max_payload: z.int().min(1024).max(256 * MiB).default(32 * MiB)
    .describe("largest message from a client, in bytes; default 33554432").meta(editable),
  message_rate: z.number().min(0).max(1_000_000).default(100)
    .describe("messages a client may send per second over time; default 100; 0 = unlimited").meta(editable),
  message_burst: z.int().min(0).max(1_000_000).default(200)
    .describe("messages a client may send at once; default 200; 0 = unlimited").meta(editable),
});

export type PicoServerConfig = z.output<typeof picoSchema>;

export const messageRate = ({ message_rate, message_burst }: PicoServerConfig): Rate =>
  ({ perSecond: message_rate, burst: message_burst });

/** Milliseconds between two pings: below the time after which the peer would be given up. */
export const pingEveryMs = ({ ping_interval, read_timeout }: PicoServerConfig): number =>
  (ping_interval < read_timeout ? ping_interval : read_timeout / 2) * 1_000;
