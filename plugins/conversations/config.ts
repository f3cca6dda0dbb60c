// Schema of the section `store`.
import * as z from "zod";

/** A password in an address would appear on pages and in files that are not secret. */
const hasNoPassword = (url: string): boolean =>
  url === "" || (URL.canParse(url) && new URL(url).password === "");

/** Settings of the kind `redis`. Its secrets are not settings, so that no page shows them. */
const redisFields = {
  url: z
    .string()
    .max(2_048)
    .refine(hasNoPassword, "must be a redis:// or rediss:// URL without a password")
    .default("")
    .meta({
      title: "Redis URL",
      description: "redis://HOST:PORT or rediss://HOST:PORT, without a password.",
    }),
  sentinels: z
    .array(z.string().max(256))
    .max(16)
    .default([])
    .meta({ title: "Sentinels", description: "HOST:PORT of each Sentinel, instead of a URL." }),
  name: z.string().max(256).default("").meta({
    title: "Master name",
    description: "Name of the master in Sentinel.",
  }),
  prefix: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .default("doorward")
    .meta({ title: "Key prefix", description: "Begins the names of all keys in Redis." }),
  node: z.string().max(64).default("").meta({
    title: "Node name",
    description: "Name of this node on pages; empty: a random one.",
  }),
  patience: z.int().min(1).max(60).default(10).meta({
    title: "Patience",
    description: "Seconds that a message waits while Redis is away.",
  }),
  replicas: z.int().min(0).max(8).default(0).meta({
    title: "Replicas",
    description: "Replicas that must have a message before any client receives it.",
  }),
  keep_hours: z.int().min(1).max(8_760).default(24).meta({
    title: "Hours to keep",
    description: "Redis deletes conversations that were not used for longer.",
  }),
} as const;

/** @param kind - The default of `kind`. */
const createStoreSchema = (kind: "memory" | "sqlite") =>
  z.strictObject({
    kind: z.enum(["memory", "sqlite", "redis"]).default(kind).meta({
      title: "Store",
      description:
        "memory keeps nothing after a stop; sqlite keeps one file; redis serves several nodes.",
    }),
    path: z.string().max(4_096).default("").meta({
      title: "File",
      description: "Path of the file; empty: state/conversations.db in the home.",
    }),
    durability: z.enum(["process", "power"]).default("process").meta({
      title: "Durability",
      description: "power also survives a power failure, but each write waits for the disk.",
    }),
    keep_days: z.int().min(0).max(36_500).default(90).meta({
      title: "Days to keep",
      description: "Conversations that were not used for longer are deleted; 0 keeps them.",
    }),
    max_mb: z.int().min(16).max(1_048_576).default(1_024).meta({
      title: "Maximum size",
      description: "In MiB. The least recently used conversations are deleted first.",
    }),
    ...redisFields,
  });

/** Schema of the plugin in a host application, which keeps nothing on disk by default. */
export const hostStoreSchema = createStoreSchema("memory");
/** Schema of the plugin with a home. */
export const homeStoreSchema = createStoreSchema("sqlite");

/** Validated section `store`. */
export type StoreConfig = z.output<typeof hostStoreSchema>;
/** Section as users write it. */
export type StoreInput = z.input<typeof hostStoreSchema>;
