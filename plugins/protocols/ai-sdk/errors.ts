// Errors of the AI SDK protocol.
import { errorTable } from "../../../kernel/index.ts";
import { missingTokenText } from "../errors.ts";

/** Errors of the plugin. `AI_SDK_TOKEN_MISSING` fails the start. */
export const aiSdkErrors = errorTable({
  AI_SDK_TOKEN_MISSING: (prefix: string | undefined) =>
    missingTokenText("AI SDK", "ai_sdk", prefix),
});
