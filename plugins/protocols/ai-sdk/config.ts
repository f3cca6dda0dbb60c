// The section `channels.ai_sdk`.
import * as z from "zod";
import { commonSettings, disconnectSetting, settingMeta } from "../config.ts";

/** The schema of `channels.ai_sdk`. The token store manages the token. */
export const aiSdkSchema = z.strictObject({
  ...commonSettings,
  questions: z
    .enum(["finish", "stream"])
    .default("finish")
    .meta(
      settingMeta(
        "Questions",
        "finish: an open question ends the stream, and the page sends the answer with its chat. " +
          "stream: the stream stays open, and the page answers with POST /ai/chat/ID/answer.",
      ),
    ),
  // A page that is loaded again closes its connection too.
  disconnect: disconnectSetting("keep"),
});

/** The validated section `channels.ai_sdk`. */
export type AiSdkConfig = z.output<typeof aiSdkSchema>;
/** The section as users write it. */
export type AiSdkInput = z.input<typeof aiSdkSchema>;
