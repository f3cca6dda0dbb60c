// Schema of the section `store`.
import * as z from "zod";

/** @param kind - The default of `kind`. */
const createStoreSchema = (kind: "memory" | "sqlite") =>
  z.strictObject({
    kind: z.enum(["memory", "sqlite"]).default(kind).meta({
      title: "Store",
      description: "memory keeps no conversation after a stop; sqlite keeps them in one file.",
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
  });

/** Schema of the plugin in a host application, which keeps nothing on disk by default. */
export const hostStoreSchema = createStoreSchema("memory");
/** Schema of the plugin with a home. */
export const homeStoreSchema = createStoreSchema("sqlite");

/** Validated section `store`. */
export type StoreConfig = z.output<typeof hostStoreSchema>;
/** Section as users write it. */
export type StoreInput = z.input<typeof hostStoreSchema>;
