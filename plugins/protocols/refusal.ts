// The rejection of a request, before a protocol gives it a form of its own.

interface RefusalOptions {
  /** Name of the field that is wrong. */
  readonly param?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A rejected request. Each protocol has a table of the statuses of the codes. */
export class Refusal extends Error {
  readonly code: string;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: string, message: string, { param, headers = {} }: RefusalOptions = {}) {
    super(message);
    this.code = code;
    this.param = param;
    this.headers = headers;
  }
}

/** The token was replaced, or the session of a person with the host has ended. */
export const accessEnded = (): Refusal =>
  new Refusal("invalid_api_key", "The token was replaced, or you have signed out.");

/** The kernel stops: clients may send the message again. */
export const stoppingRefusal = (): Refusal =>
  new Refusal("not_running", "Doorward is stopping. Try again shortly.", {
    headers: { "Retry-After": "1" },
  });
