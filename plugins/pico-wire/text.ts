import { limits } from "./limits.ts";

const control = /\p{Cc}/u;

const utf8 = new TextEncoder();

/** The text as UTF-8. */
export const bytesOf = (text: string): Uint8Array => utf8.encode(text);

/** Whether it has at most that many bytes as UTF-8: between one and three for each unit, counted only where that does
 *  not decide. */
export const fits = (text: string, bytes: number): boolean =>
  text.length <= bytes && (text.length * 3 <= bytes || bytesOf(text).length <= bytes);

/** A word of ASCII, as nearly all names are: seen at one look. */
const word = /^[\w.:@/+=-]{1,64}$/;

/** A name both sides print and compare: no control characters, no half of a surrogate pair, bounded. */
const isName = (text: string, bytes: number): boolean =>
  word.test(text) || (text !== "" && fits(text, bytes) && text.isWellFormed() && !control.test(text));

export const isSessionId = (text: string): boolean => isName(text, limits.sessionId);
export const isId = (text: string): boolean => isName(text, limits.id);
