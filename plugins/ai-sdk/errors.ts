// Errors of the AI SDK protocol.
import { errorTable } from "../../kernel/index.ts";

/** Errors of the plugin. `AI_SDK_TOKEN_MISSING` fails the start. */
export const aiSdkErrors = errorTable({
  AI_SDK_TOKEN_MISSING: (prefix: string | undefined) =>
    "The AI SDK protocol is enabled but has no token. " +
    (prefix === undefined
      ? "Pass one to the token store: tokenStore(memory({ ai_sdk: token })). " +
        "Use 32 random bytes in hex (openssl rand -hex 32)."
      : `Set the environment variable ${prefix}_CHANNELS_AI_SDK_TOKEN, or channels.ai_sdk.token ` +
        "in .security.yml or config.json, to 32 random bytes in hex (openssl rand -hex 32)."),
});
