// Schema of the section `media`.
import * as z from "zod";

const pageMeta = (title: string, description: string, unit = "MiB") => ({
  editable: true,
  title,
  description,
  unit,
});

const size = z.int().min(1).max(1_048_576);

/** The schema of `media`. */
export const mediaSchema = z.strictObject({
  max_file_mb: size
    .default(2_048)
    .meta(pageMeta("Maximum file size", "Larger files are rejected while they arrive.")),
  max_mb: size
    .default(10_240)
    .meta(pageMeta("Maximum size of all files", "Files beyond this limit are rejected.")),
  max_session_mb: size
    .default(4_096)
    .meta(pageMeta("Maximum size per session", "Limits the files of one conversation.")),
  max_sender_mb: size
    .default(8_192)
    .meta(pageMeta("Maximum size per sender", "Limits the files of one token or person.")),
  max_files: z
    .int()
    .min(1)
    .max(100_000)
    .default(200)
    .meta(pageMeta("Files per session", "Limits the number of files of one session.", "files")),
  path: z.string().max(4_096).default("").meta({
    title: "Folder",
    description: "Path of the folder; empty: state/media in the home.",
  }),
  // A command of the owner: pages must not change which program runs.
  check: z.array(z.string().min(1).max(4_096)).max(64).default([]).meta({
    title: "Check",
    description: "A program that reads each new file; it ends with 0 to accept the file.",
  }),
});

/** Validated section `media`. */
export type MediaConfig = z.output<typeof mediaSchema>;
/** The section as users write it. */
export type MediaInput = z.input<typeof mediaSchema>;
