import type { ErrorCode } from "./reasons.ts";

/** The only thing the codec throws. `message` is fit for the peer; `requestId` is there when the frame's id could be
 *  read. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly code: ErrorCode;
  readonly requestId: string | undefined;
  readonly sessionId: string | undefined;

  constructor(code: ErrorCode, message: string, from: { id?: string; session?: string } = {}) {
    super(message);
    this.code = code;
    this.requestId = from.id;
    this.sessionId = from.session;
  }
}
