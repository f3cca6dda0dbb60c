import { limits } from "./limits.ts";

const control = /\p{Cc}/u;

/** Bytes of the text as UTF-8, counted without making them. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 ? 1 : 2;
    if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) at++;
  }
  return bytes;
}

/** A name both sides print and compare: no control characters, no half of a surrogate pair, bounded. */
const isName = (text: string, bytes: number): boolean =>
  text !== "" && text.length <= bytes && text.isWellFormed() && !control.test(text) && byteLength(text) <= bytes;

export const isSessionId = (text: string): boolean => isName(text, limits.sessionId);
export const isId = (text: string): boolean => isName(text, limits.id);
