// The form of a key: `dwk_` with the id, then the secret.

/** Id and secret of a key. */
interface KeyParts {
  readonly id: string;
  readonly secret: string;
}

const keyPattern = /^dwk_([a-z2-7]{8})_([\w-]{43})$/;
const keyInside = /dwk_[a-z2-7]{8}_[\w-]{43}/;

/** @returns The parts of a text that has the form of a key. */
export function parseKey(text: string): KeyParts | undefined {
  const [, id, secret] = keyPattern.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export const formatKey = ({ id, secret }: KeyParts): string => `dwk_${id}_${secret}`;

/** Whether a text contains something that has the form of a key, whether or not the key exists. */
export const containsKey = (text: string): boolean => keyInside.test(text);

const idLetters = "abcdefghijklmnopqrstuvwxyz234567";

/** Returns an id of 40 bits: eight letters and digits in base32. */
export const toKeyId = (bytes: Uint8Array): string =>
  [...bytes.subarray(0, 8)].map((byte) => idLetters[byte % 32]).join("");
