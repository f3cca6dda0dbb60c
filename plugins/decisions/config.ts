// Schema of the part of the section `store` that belongs to decisions.
import * as z from "zod";

export const decisionsSchema = z.object({
  decisions_days: z.int().min(0).max(36_500).default(365).meta({
    title: "Days to keep decisions",
    description: "A line stays that long after the conversation is deleted; 0 keeps none.",
  }),
});
