// Errors of the OpenAI protocol: codes, statuses and types, and the form of their bodies.
import { codeOf, errorTable } from "../../kernel/index.ts";
import { Refusal, type RunEnd } from "../doors/index.ts";

/** Errors of the plugin. `OPENAI_TOKEN_MISSING` fails the start. */
export const openaiErrors = errorTable({
  OPENAI_TOKEN_MISSING: (prefix: string | undefined) =>
    "The OpenAI protocol is enabled but has no token. " +
    (prefix === undefined
      ? "Pass one to the token store: tokenStore(memory({ openai: token })). " +
        "Use 32 random bytes in hex (openssl rand -hex 32)."
      : `Set the environment variable ${prefix}_CHANNELS_OPENAI_TOKEN, or channels.openai.token ` +
        "in .security.yml or config.json, to 32 random bytes in hex (openssl rand -hex 32)."),
});

/** Code -> status and type. */
export const refusals = {
  invalid_json: [400, "invalid_request_error"],
  invalid_type: [400, "invalid_request_error"],
  missing_required_parameter: [400, "invalid_request_error"],
  unsupported_value: [400, "invalid_request_error"],
  invalid_image_url: [400, "invalid_request_error"],
  previous_response_not_found: [400, "invalid_request_error"],
  application_refused: [400, "invalid_request_error"],
  loop: [400, "invalid_request_error"],
  invalid_api_key: [401, "invalid_request_error"],
  origin_not_allowed: [403, "invalid_request_error"],
  model_not_found: [404, "invalid_request_error"],
  unknown_url: [404, "invalid_request_error"],
  method_not_allowed: [405, "invalid_request_error"],
  body_timeout: [408, "invalid_request_error"],
  id_reused: [409, "invalid_request_error"],
  stopped: [409, "invalid_request_error"],
  too_large: [413, "invalid_request_error"],
  unsupported_media_type: [415, "invalid_request_error"],
  rate_limited: [429, "rate_limit_error"],
  internal: [500, "server_error"],
  application_ended: [502, "server_error"],
  bad_answer: [502, "server_error"],
  no_application: [503, "server_error"],
  not_running: [503, "server_error"],
  store_unavailable: [503, "server_error"],
  no_answer: [504, "server_error"],
} as const satisfies Readonly<Record<string, readonly [number, string]>>;

type RefusalCode = keyof typeof refusals;

const isKnown = (code: string | undefined): code is RefusalCode =>
  code !== undefined && Object.hasOwn(refusals, code);

/** Sentences for errors of Doorward that were written for programmers. */
const sentences: Readonly<Partial<Record<RefusalCode, string>>> = {
  no_application: "No application receives messages. Try again shortly.",
  not_running: "Doorward is stopping. Try again shortly.",
  stopped: "The message was stopped before the application accepted it.",
  id_reused: "Another message already used this Idempotency-Key.",
  loop: "The message has crossed too many bridges.",
  store_unavailable: "The conversation cannot be stored now. Try again shortly.",
};
/** The application wrote the messages of these errors for the sender. */
const forwarded = ["application_refused", "application_ended", "bad_answer", "no_answer"];
const retryable = ["no_application", "not_running", "store_unavailable"];

/** Converts a failed delivery or run. Details of other errors stay in the log. */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return refusalOf(codeOf(error), error);
}

/** Converts the end of a run that failed. Without its error only the code is known. */
export const toEndRefusal = ({ error, code }: RunEnd): Refusal =>
  error === undefined ? refusalOf(code ?? "internal") : toRefusal(error);

function refusalOf(given: string, error?: unknown): Refusal {
  const code = given === "store_busy" ? "store_unavailable" : given;
  if (!isKnown(code)) return giveUp("internal", "The message could not be processed.");
  if (retryable.includes(code))
    return new Refusal(code, sentences[code]!, { headers: { "Retry-After": "1" } });
  if (forwarded.includes(code) && error instanceof Error) return giveUp(code, error.message);
  return giveUp(code, sentences[code] ?? "The message could not be processed.");
}

/** The application may have acted on the message, so clients must not repeat it by themselves. */
const giveUp = (code: RefusalCode, message: string): Refusal =>
  new Refusal(code, message, { headers: { "x-should-retry": "false" } });

/** @returns The status, and the body with all four keys. */
export function toErrorBody({ code, message, param }: Refusal): {
  readonly status: number;
  readonly body: { readonly error: object };
} {
  const [status, type] = refusals[isKnown(code) ? code : "internal"];
  return { status, body: { error: { message, type, param: param ?? null, code } } };
}
