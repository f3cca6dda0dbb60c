import { frameLimits } from "./frame-limits.ts";

const utf8Encoder = new TextEncoder();

/** The text as UTF-8. */
export const encodeUtf8 = (text: string): Uint8Array => utf8Encoder.encode(text);

/** Whether it has at most that many bytes as UTF-8: between one and three for each unit, counted only where that does
 *  not decide. */
export const fitsInBytes = (text: string, bytes: number): boolean =>
  text.length <= bytes && (text.length * 3 <= bytes || encodeUtf8(text).length <= bytes);

/** ASCII, as nearly all names are, is seen at one look; the rest without control characters and halves of pairs. */
const namePattern = /^(?:[!-~]+|[^\p{Cc}\p{Cs}]+)$/u;

/** A name both sides print and compare, bounded. */
const isName = (text: string, bytes: number): boolean =>
  fitsInBytes(text, bytes) && namePattern.test(text);

export const isSessionId = (text: string): boolean => isName(text, frameLimits.sessionId);
export const isId = (text: string): boolean => isName(text, frameLimits.id);
