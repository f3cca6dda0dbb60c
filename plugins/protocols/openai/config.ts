// The section `channels.openai`.
import * as z from "zod";
import { commonSettings, disconnectSetting, settingMeta } from "../config.ts";

const modelName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[\w.:/-]+$/, "expected letters, digits and . : / _ -");

/** The schema of `channels.openai`. The token store manages the token. */
export const openaiSchema = z.strictObject({
  ...commonSettings,
  model: modelName
    .default("doorward")
    .meta(settingMeta("Model name", "The model that clients see. They may name any other one.")),
  models: z
    .array(modelName)
    .max(100)
    .default([])
    .meta(
      settingMeta(
        "Further model names",
        "Clients see these names too. With at least one, all other names are rejected.",
      ),
    ),
  sessions_from: z
    .enum(["request", "history"])
    .default("request")
    .meta(
      settingMeta(
        "Requests without a session",
        "request: each one is a conversation of its own. history: a request continues the " +
          "conversation whose last reply it contains. Use it if one person has the token.",
      ),
    ),
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
  questions: z
    .enum(["responses", "link", "wait"])
    .default("link")
    .meta(
      settingMeta(
        "Questions",
        "link: the reply contains the address of a page that answers. responses: clients of the " +
          "Responses API receive approvals as mcp_approval_request. wait: neither.",
      ),
    ),
  question_wait_s: z
    .int()
    .min(0)
    .max(86_400)
    .default(20)
    .meta(
      settingMeta(
        "Wait for an answer",
        "How long a response that is not streamed waits for the answer to a question. Many " +
          "clients give up after 30 seconds.",
        "seconds",
      ),
    ),
  disconnect: disconnectSetting("stop"),
});

/** The validated section `channels.openai`. */
export type OpenaiConfig = z.output<typeof openaiSchema>;
/** The section as users write it. */
export type OpenaiInput = z.input<typeof openaiSchema>;
