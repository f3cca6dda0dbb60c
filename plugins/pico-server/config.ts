// The `channels.pico` section: its schema, and values derived from it.
import * as z from "zod";
import { isOriginPattern } from "./handshake/origins.ts";

const MiB = 1024 * 1024;

/** Metadata for pages: a label and a help text. Pages show the unit and the default separately. */
export const settingMeta = (title: string, description: string, unit?: string) => ({
  editable: true,
  title,
  description,
  ...(unit !== undefined && { unit }),
});

/** Sections of the page of settings. */
type Section = "channel" | "limits" | "access" | "shutdown";

const pageMeta = (section: Section, title: string, description: string, unit?: string) => ({
  ...settingMeta(title, description, unit),
  section,
});

/** Zero and negative numbers select the default, as in the configuration of older servers. */
const secondsSetting = (defaultSeconds: number, title: string, description: string) =>
  z
    .int()
    .max(86_400)
    .overwrite((value) => (value > 0 ? value : defaultSeconds))
    .default(defaultSeconds)
    // The page asks for one second or more: it has no files of older servers to accept.
    .meta({ ...pageMeta("channel", title, description, "seconds"), minimum: 1 });

/** An entry of `allow_origins`. */
export const originSetting = z
  .string()
  .max(300)
  .refine(
    isOriginPattern,
    "expected an origin (https://app.example.org), https://*.example.org, self, null or *",
  );

/** Turns a setting `enabled` on by default. */
export const enabledByDefault = (setting: z.ZodDefault<z.ZodBoolean>): z.ZodDefault<z.ZodBoolean> =>
  z
    .boolean()
    .default(true)
    .meta(setting.meta() ?? {});

/** The schema of `channels.pico`. The token is not a field of it: the token store manages it. */
export const picoSchema = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .meta(pageMeta("channel", "Channel", "Clients can connect to this service.")),
  allow_token_query: z
    .boolean()
    .default(false)
    .meta(
      pageMeta(
        "access",
        "Token in URL",
        "Allows ?token=. URLs appear in logs and browser history.",
      ),
    ),
  allow_origins: z
    .array(originSetting)
    .max(1_000)
    .default([])
    .meta(
      pageMeta(
        "access",
        "Allowed origins",
        "Only web pages of these origins can connect. An empty list allows all origins.",
      ),
    ),
  answers: z
    .enum(["all", "owner"])
    .default("all")
    .meta(
      pageMeta(
        "access",
        "Answers to questions",
        "All clients, or only the owner, can answer questions of the application.",
      ),
    ),
  ping_interval: secondsSetting(30, "Ping interval", "Time between two pings to a client."),
  read_timeout: secondsSetting(
    60,
    "Read timeout",
    "Clients that send nothing for this long are disconnected.",
  ),
  write_timeout: secondsSetting(
    60,
    "Write timeout",
    "Clients that read no queued data for this long are disconnected.",
  ),
  max_connections: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(100)
    .meta(
      pageMeta("limits", "Maximum connections", "New connections beyond this limit are rejected."),
    ),
  max_payload: z
    .int()
    .min(1024)
    .max(256 * MiB)
    .default(32 * MiB)
    .meta(
      pageMeta("limits", "Maximum message size", "Larger messages close the connection.", "bytes"),
    ),
  message_rate: z
    .number()
    .min(0)
    .max(1_000_000)
    .default(100)
    .meta(
      pageMeta(
        "limits",
        "Message rate",
        "How many messages each client may send over time. 0 removes the limit.",
        "messages per second",
      ),
    ),
  message_burst: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(200)
    .meta(
      pageMeta(
        "limits",
        "Message burst",
        "How many messages each client may send in a burst. 0 removes the limit.",
        "messages",
      ),
    ),
  drain_timeout: z
    .number()
    .min(0)
    .max(300)
    .default(5)
    .meta(
      pageMeta(
        "shutdown",
        "Shutdown grace period",
        "How long to wait for in-flight replies before closing the remaining connections. " +
          "0 closes them immediately.",
        "seconds",
      ),
    ),
  reconnect_rate: z
    .int()
    .min(1)
    .max(100_000)
    .default(300)
    .meta(
      pageMeta(
        "shutdown",
        "Reconnect rate",
        "How many clients may reconnect per second after a restart or a new token.",
        "clients per second",
      ),
    ),
});

/** In the list of a host, the plugin is on unless the section says otherwise. */
export const hostPicoSchema = picoSchema.extend({
  enabled: enabledByDefault(picoSchema.shape.enabled),
});

/**
 * The validated section `channels.pico`, with defaults filled in. `docs/configuration.md` lists the
 * fields with units and ranges.
 */
export type PicoServerConfig = z.output<typeof picoSchema>;
/** The section as users write it. */
export type PicoServerInput = z.input<typeof picoSchema>;

/** @returns Milliseconds between two pings, always less than the read timeout. */
export const pingEveryMs = ({ ping_interval, read_timeout }: PicoServerConfig): number =>
  (ping_interval < read_timeout ? ping_interval : read_timeout / 2) * 1_000;
