// The rejection of a request, before a protocol gives it a form of its own.
import { requestError, type RequestError, type ResponseFacts } from "../http/request-error.ts";

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
