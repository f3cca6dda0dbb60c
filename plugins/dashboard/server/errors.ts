/** Errors that the dashboard answers with: code, HTTP status and message. @module */
import { errorTable } from "../../../kernel/index.ts";
import {
  isRequestError,
  requestError,
  type RequestError,
  type ResponseFacts,
} from "../../http/request-error.ts";

/** Error code to HTTP status and default message. */
export const httpErrors = {
  invalid_body: [400, "The request body does not match what this endpoint expects."],
  invalid_request: [400, "The request is not valid HTTP."],
  aborted_request: [400, "The connection was closed before the whole request had arrived."],
  unauthorized: [
    401,
    "Sign in first, or send the launcher token as `Authorization: Bearer <token>`.",
  ],
  invalid_token: [401, "This token is wrong."],
  invalid_code: [401, "This setup code is wrong."],
  setup_required: [403, "Setup is not finished. Open /setup and choose the launcher token."],
  not_an_owner: [403, "This person is not an owner."],
  host_not_allowed: [403, "This host name is not allowed."],
  origin_not_allowed: [403, "This request comes from a page of another site."],
  not_found: [404, "Nothing exists at this address."],
  unknown_question: [404, "There is no such question. It may be from before a restart."],
  method_not_allowed: [405, "This address does not support this method."],
  already_settled: [409, "Another answer came first."],
  already_set_up: [409, "Setup is already finished."],
  token_managed_by_env: [409, "This token comes from an environment variable; change it there."],
  rotation_in_progress: [
    409,
    "Another rotation of this token is running or has just finished; reload and try again.",
  ],
  key_rejected: [409, "The key cannot be created."],
  busy: [409, "This operation is already running; wait until it has finished."],
  message_rejected: [409, "The application did not accept the message; see the launcher log."],
  not_supported: [409, "This store does not support this."],
  etag_mismatch: [
    412,
    "The settings have changed since they were read; read them again and repeat the change.",
  ],
  body_too_large: [413, "The request body is too large."],
  file_too_large: [413, "The file is larger than media.max_file_mb."],
  upload_slow: [408, "The file arrives slower than 16 KiB per second; send it again."],
  media_full: [507, "There is no room for the file: a limit is reached."],
  invalid_file: [422, "The file was not stored: its headers or checksum are wrong."],
  unsupported_media_type: [415, "Send JSON (application/json) or a form."],
  invalid_answer: [422, "The answer does not fit the question."],
  weak_token: [422, "Choose 16 to 256 printable ASCII characters without spaces."],
  token_mismatch: [422, "The two tokens differ."],
  invalid_key: [422, "A field of the key is not valid."],
  invalid_setting: [422, "This setting is not valid."],
  field_not_editable: [422, "This setting cannot be changed here."],
  token_required: [422, "Type the remote token again to change where the client connects."],
  etag_required: [428, "Send `If-Match` with the etag of the settings section."],
  rate_limited: [429, "Too many wrong tokens from this address; wait and try again."],
  internal: [500, "The request failed; see the launcher log for the reason."],
  unavailable: [503, "The launcher is starting; try again in a moment."],
  store_unavailable: [503, "The token store is not available; nothing was changed."],
} as const satisfies Record<string, readonly [number, string]>;
export type HttpErrorCode = keyof typeof httpErrors;

export const dashboardErrors = errorTable({
  PROXY_SECRET: (min: number) =>
    `launcher.proxy_sign_in needs the token proxy_sign_in, of at least ${min} characters, which ` +
    "the proxy sends. Generate one: doorward token rotate proxy_sign_in",
  PROXY_SIGN_IN_TAKEN:
    "The host names owners with identify(), so launcher.proxy_sign_in cannot. Remove one of them.",
  dashboard_route_taken: (name: string) =>
    `Two plugins serve /api/x/${name}; change the route name of one of them.`,
});

/** An error with a code of `httpErrors`; `sendError` turns it into a response. */
export type HttpError = RequestError<HttpErrorCode>;

interface HttpErrorFacts extends ResponseFacts {
  /** @defaultValue the message of the table */
  readonly message?: string | undefined;
}

export const refuse = (
  code: HttpErrorCode,
  { message = httpErrors[code][1], ...facts }: HttpErrorFacts = {},
): HttpError => requestError(code, message, facts);

export const isHttpError = (error: unknown): error is HttpError =>
  isRequestError(error) && Object.hasOwn(httpErrors, error.code);

/** @throws not_found without the value, which this deployment or request may lack. */
export function required<T>(value: T | undefined, message?: string): T {
  if (value !== undefined) return value;
  throw refuse("not_found", { message });
}

/** Too many large responses are unread. */
export const unreadError = (): HttpError =>
  refuse("unavailable", {
    message: "Too many large responses are unread; try again in a moment.",
    retryAfterSeconds: 5,
  });
