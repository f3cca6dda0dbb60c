// Errors of the OpenAI protocol: its own codes, and the form of error bodies.
import { errorTable } from "../../../kernel/index.ts";
import { missingTokenText, statusOf, type Refusal } from "../errors.ts";

/** Errors of the plugin. `OPENAI_TOKEN_MISSING` fails the start. */
export const openaiErrors = errorTable({
  OPENAI_TOKEN_MISSING: (prefix: string | undefined) =>
    missingTokenText("OpenAI", "openai", prefix),
});

/** Code -> status, in addition to those of all protocols. */
export const refusals = {
  previous_response_not_found: [400],
  model_not_found: [404],
} as const satisfies Readonly<Record<string, readonly [number]>>;

const typeOf = (status: number): string => {
  if (status >= 500) return "server_error";
  return status === 429 ? "rate_limit_error" : "invalid_request_error";
};

/** @returns The body of an error, with all four keys. */
export function toErrorBody({ code, message, details }: Refusal): { readonly error: object } {
  const type = typeOf(statusOf(code, refusals));
  return { error: { message, type, param: details.response.param ?? null, code } };
}
