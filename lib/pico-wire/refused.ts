import { WireError } from "./errors.ts";
import { messageErrors, type ErrorCode } from "./reasons.ts";

/** The error with the sentence of the table: what reads servers does without the table, to be small in pages. */
export const wireError = (code: ErrorCode): WireError =>
  new WireError(code, messageErrors[code].message);
