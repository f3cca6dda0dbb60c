// Errors that a client of HTTP reads: the dashboard and the protocols reject requests with them.
import { DoorwardError } from "../../kernel/index.ts";

/** Facts for the response, besides the code and the sentence. */
export interface ResponseFacts {
  /** HTTP status. @defaultValue that of the code, in the table of the plugin */
  readonly status?: number | undefined;
  /** Name of the field that is wrong. */
  readonly param?: string | undefined;
  /** A command or setting that fixes the problem. */
  readonly hint?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  /** Methods that the address supports, as the header `Allow`. */
  readonly allow?: string | undefined;
  /** Launcher state, in the response of `/readyz`. */
  readonly state?: string | undefined;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An error whose sentence was written for the client. Errors without facts stay in the log. */
export interface RequestError<C extends string = string> extends DoorwardError {
  readonly code: C;
  readonly details: { readonly response: ResponseFacts };
}

/** @param message - The sentence that the client reads. */
export const requestError = <C extends string>(
  code: C,
  message: string,
  response: ResponseFacts = {},
): RequestError<C> =>
  new DoorwardError(code, message, { details: { response } }) as RequestError<C>;

export const isRequestError = (error: unknown): error is RequestError =>
  error instanceof DoorwardError && "response" in error.details;
