// The error class of the codec.
import { messageErrors, type ErrorCode } from "./codes.ts";

/**
 * The only error that the codec throws. `message` may be sent to the client. The ids are present if
 * they could be read from a client frame.
 */
export class WireError extends Error {
  /** Recognise the error by this name: two copies of the package may be loaded. */
  override readonly name = "WireError";
  /** Reason of the rejection, as sent in an `error` frame. */
  readonly code: ErrorCode;
  /** The `id` of the frame: at most 256 bytes without control characters. */
  declare readonly requestId?: string;
  /** The `session_id` of the frame: at most 256 bytes without control characters. */
  declare readonly sessionId?: string;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Creates an error with the message of the table. The decoder of server frames does not use it, so
 * the browser bundle does not contain the table.
 */
export const wireError = (code: ErrorCode): WireError =>
  new WireError(code, messageErrors[code].message);
