// Rejections of requests, with their codes and statuses, for all protocols.
import { sentenceForSender } from "../channels/sender-error.ts";
import {
  isRequestError,
  requestError,
  type RequestError,
  type ResponseFacts,
} from "../http/request-error.ts";
import { codeOf } from "../../kernel/index.ts";
import type { RunEnd } from "./follower.ts";

/** A rejected request. Each protocol has a table of the statuses of the codes. */
export type Refusal = RequestError;

export const refuse = (
  code: string,
  message: string,
  facts: Pick<ResponseFacts, "param" | "headers"> = {},
): Refusal => requestError(code, message, facts);

/** The token was replaced, or the session of a person with the host has ended. */
export const accessEnded = (): Refusal =>
  refuse("invalid_api_key", "The token was replaced, or you have signed out.");

/** The kernel stops: clients may send the message again. */
export const stoppingRefusal = (): Refusal =>
  refuse("not_running", "Doorward is stopping. Try again shortly.", {
    headers: { "Retry-After": "1" },
  });

/** Code -> status. A protocol may have further codes. */
export const refusals = {
  invalid_json: [400],
  invalid_type: [400],
  missing_required_parameter: [400],
  unsupported_value: [400],
  invalid_image_url: [400],
  invalid_file: [400],
  unknown_tool_call: [400],
  application_refused: [400],
  loop: [400],
  invalid_api_key: [401],
  origin_not_allowed: [403],
  session_forbidden: [403],
  not_allowed: [403],
  unknown_url: [404],
  unknown_media: [404],
  method_not_allowed: [405],
  body_timeout: [408],
  id_reused: [409],
  question_open: [409],
  stopped: [409],
  too_large: [413],
  file_too_large: [413],
  unsupported_media_type: [415],
  rate_limited: [429],
  internal: [500],
  application_ended: [502],
  bad_answer: [502],
  reply_too_large: [502],
  no_application: [503],
  not_running: [503],
  store_unavailable: [503],
  no_answer: [504],
  media_full: [507],
} as const satisfies Readonly<Record<string, readonly [number]>>;

type RefusalCode = keyof typeof refusals;

const isKnown = (code: string | undefined): code is RefusalCode =>
  code !== undefined && Object.hasOwn(refusals, code);

/** Sentences for errors of Doorward that were written for programmers. */
const sentences: Readonly<Partial<Record<RefusalCode, string>>> = {
  no_application: "No application receives messages. Try again shortly.",
  not_running: "Doorward is stopping. Try again shortly.",
  stopped: "The message was stopped before the application accepted it.",
  id_reused: "Another message already used this id.",
  reply_too_large: "The reply of the application is too large to be sent.",
  loop: "The message has crossed too many bridges.",
  store_unavailable: "The conversation cannot be stored now. Try again shortly.",
};
/** The application wrote the messages of these errors for the sender. */
const forwarded = ["application_refused", "application_ended", "bad_answer", "no_answer"];
const retryable = ["no_application", "not_running", "store_unavailable"];

/** Converts a failed delivery or run. Details of other errors stay in the log. */
export function toRefusal(error: unknown): Refusal {
  if (isRequestError(error)) return error;
  return refusalOf(codeOf(error), error);
}

/** Converts the end of a run that failed. Without its error only the code is known. */
export const toEndRefusal = ({ error, code }: RunEnd): Refusal =>
  error === undefined ? refusalOf(code ?? "internal") : toRefusal(error);

/** Codes of errors that have another meaning, or another name, for clients. */
const clientCodes: Readonly<Record<string, RefusalCode>> = {
  store_busy: "store_unavailable",
  too_large: "reply_too_large",
};

function refusalOf(given: string, error?: unknown): Refusal {
  const code = clientCodes[given] ?? given;
  const isUnknown = code === "internal" || !isKnown(code);
  const sentence = isUnknown ? sentenceForSender(error) : undefined;
  if (sentence !== undefined) return giveUp("application_refused", sentence);
  if (!isKnown(code)) return giveUp("internal", "The message could not be processed.");
  if (retryable.includes(code))
    return refuse(code, sentences[code]!, { headers: { "Retry-After": "1" } });
  if (forwarded.includes(code) && error instanceof Error) return giveUp(code, error.message);
  return giveUp(code, sentences[code] ?? "The message could not be processed.");
}

/** The application may have acted on the message, so clients must not repeat it by themselves. */
const giveUp = (code: RefusalCode, message: string): Refusal =>
  refuse(code, message, { headers: { "x-should-retry": "false" } });

/** True if only the connection ends, while the answer may continue: at a stop or a new token. */
export const isCut = ({ code }: Refusal): boolean =>
  code === "not_running" || code === "invalid_api_key";

/** The body of an error of protocols that have no form of their own. */
export const toPlainError = ({ code, message }: Refusal): object => ({ error: code, message });

/**
 * The message of a start that fails because the token is missing.
 *
 * @param prefix - Undefined if the token store does not read the environment.
 */
export function missingTokenText(title: string, token: string, prefix: string | undefined): string {
  const problem = `The ${title} protocol is enabled but has no token. `;
  if (prefix === undefined) {
    const example = `tokenStore(memory({ ${token}: token }))`;
    return `${problem}Pass one to the token store: ${example}. ${tokenForm}`;
  }
  const variable = `${prefix}_CHANNELS_${token.toUpperCase()}_TOKEN`;
  const key = `channels.${token}.token in .security.yml or config.json`;
  return `${problem}Set the environment variable ${variable}, or ${key}. ${tokenForm}`;
}
const tokenForm = "Use 32 random bytes in hex (openssl rand -hex 32).";

/** @param own - Further codes of the protocol. */
export function statusOf(code: string, own: Readonly<Record<string, readonly [number]>>): number {
  if (Object.hasOwn(own, code)) return own[code]![0];
  return refusals[isKnown(code) ? code : "internal"][0];
}
