// Schema of the section `backup`.
import * as z from "zod";

/** The schema of `backup`. */
export const backupSchema = z.strictObject({
  every: z.int().min(0).max(8_760).default(0).meta({
    editable: true,
    title: "Hours between backups",
    description: "A running launcher makes a backup this often. 0 makes none.",
    unit: "hours",
  }),
  keep: z.int().min(1).max(1_000).default(7).meta({
    editable: true,
    title: "Backups to keep",
    description: "The oldest ones beyond this number are deleted after each new one.",
    unit: "backups",
  }),
  // The dashboard must not choose where on the disk files are written and deleted.
  path: z.string().max(4_096).default("").meta({
    title: "Folder",
    description: "Path of the folder; empty: backups in the home.",
  }),
});

/** Validated section `backup`. */
export type BackupConfig = z.output<typeof backupSchema>;
/** The section as users write it. */
export type BackupInput = z.input<typeof backupSchema>;
