import { messageErrors, type ErrorCode } from "./codes.ts";

/** The only thing the codec throws. `message` is fit for the peer; the names are there when those of a client's frame
 *  could be read. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly code: ErrorCode;
  declare readonly requestId?: string;
  declare readonly sessionId?: string;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The error with the sentence of the table: what reads servers does without the table, to be small in pages. */
export const wireError = (code: ErrorCode): WireError =>
  new WireError(code, messageErrors[code].message);
