import { errorTable } from "../../kernel/index.ts";

/** Every refusal the dashboard answers: status, and the sentence that is said unless a better one is at hand. */
export const httpErrors = {
  invalid_body: [400, "The request's body is not what this address expects."],
  invalid_request: [400, "The request is not valid HTTP for this address."],
  aborted_request: [400, "The connection was closed before the whole request had arrived."],
  unauthorized: [
    401,
    "Sign in first, or send the launcher token as `Authorization: Bearer <token>`.",
  ],
  invalid_token: [401, "This token is not right."],
  invalid_code: [401, "This setup code is not right."],
  setup_required: [403, "Choose the dashboard's token first: open /setup."],
  host_not_allowed: [403, "This host name is not allowed."],
  origin_not_allowed: [403, "This request comes from a page of another site."],
  not_found: [404, "There is nothing at this address."],
  method_not_allowed: [405, "This address does not take this method."],
  already_set_up: [409, "The dashboard's token is chosen already."],
  token_managed_by_env: [409, "This token comes from the environment and is changed there."],
  rotation_in_progress: [
    409,
    "The token is being replaced at this moment, or was replaced meanwhile.",
  ],
  busy: [409, "This is being done already; wait until it is finished."],
  etag_mismatch: [
    412,
    "The settings changed since you looked at them; look again and repeat the change.",
  ],
  body_too_large: [413, "The request's body is too large."],
  unsupported_media_type: [415, "Send JSON (application/json) or a form."],
  weak_token: [422, "Choose 16 to 256 printable ASCII characters without spaces."],
  token_mismatch: [422, "The two tokens are not the same."],
  invalid_setting: [422, "This setting is not valid."],
  field_not_editable: [422, "This setting cannot be changed here."],
  token_required: [422, "Type the remote token again to change where the client connects."],
  etag_required: [428, "Send `If-Match` with the etag of the settings you are changing."],
  rate_limited: [429, "Too many different wrong tokens from this address; wait and try again."],
  internal: [500, "Something went wrong here; the launcher's log says what."],
  unavailable: [503, "The launcher is starting; try again in a moment."],
  store_unavailable: [503, "The token store cannot answer at this moment; nothing was changed."],
} as const satisfies Record<string, readonly [number, string]>;
export type HttpErrorCode = keyof typeof httpErrors;

export const dashboardErrors = errorTable({
  dashboard_route_taken: (name: string) =>
    `Two plugins serve /api/x/${name}; give one of them another name.`,
});

/** A refusal on its way to the reply. */
export class HttpError extends Error {
  readonly code: HttpErrorCode;
  readonly extra: HttpErrorExtra;
  constructor(code: HttpErrorCode, extra: HttpErrorExtra = {}) {
    super(extra.message ?? httpErrors[code][1]);
    this.code = code;
    this.extra = extra;
  }
}
export interface HttpErrorExtra {
  readonly status?: number;
  readonly message?: string;
  /** A command or setting that helps. */
  readonly hint?: string;
  readonly retryAfterSeconds?: number;
  readonly allow?: string;
  /** Of the launcher, for those who ask whether it is ready. */
  readonly state?: string;
}
