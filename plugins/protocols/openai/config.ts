// The section `channels.openai`.
import * as z from "zod";
import { commonSettings, enabledByDefault, settingMeta } from "../index.ts";

/** The schema of `channels.openai`. The token store manages the token. */
export const openaiSchema = z.strictObject({
  ...commonSettings,
  model: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[\w.:/-]+$/, "expected letters, digits and . : / _ -")
    .default("doorward")
    .meta(settingMeta("Model name", "The only model that clients see and may name.")),
  thoughts: z
    .enum(["reasoning_content", "hide"])
    .default("reasoning_content")
    .meta(settingMeta("Thoughts", "Sends thoughts as reasoning_content, or hides them.")),
  tasks: z
    .enum(["local", "pass"])
    .default("local")
    .meta(
      settingMeta(
        "Title requests",
        "local: Doorward replies to requests for titles, tags and follow-ups. " +
          "pass: the application receives them, each in a session of its own.",
      ),
    ),
  disconnect: z
    .enum(["stop", "keep"])
    .default("stop")
    .meta(
      settingMeta(
        "Closed connection",
        "stop: a client that closes its connection stops the reply. keep: the reply continues.",
      ),
    ),
});

/** In the list of a host, the plugin is on unless the section says otherwise. */
export const hostOpenaiSchema = openaiSchema.extend({
  enabled: enabledByDefault(openaiSchema.shape.enabled),
});

/** The validated section `channels.openai`. */
export type OpenaiConfig = z.output<typeof openaiSchema>;
/** The section as users write it. */
export type OpenaiInput = z.input<typeof openaiSchema>;
