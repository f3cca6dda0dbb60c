// Encrypts the files with tokens, which a backup contains by choice.
import { createCipheriv, createDecipheriv, scrypt } from "node:crypto";
import { promisify } from "node:util";

/** Cost of one attempt to guess the passphrase: 128 MiB of memory. */
const cost = { N: 2 ** 17, r: 8, p: 1 } as const;
const maxMemory = 256 * 1024 * 1024;
const keyBytes = 32;
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
/** Shorter ones can be guessed. */
export const minPassphrase = 12;

const deriveKey = promisify<string, Buffer, number, object, Buffer>(scrypt);
const keyOf = (passphrase: string, salt: Buffer): Promise<Buffer> =>
  deriveKey(passphrase.normalize("NFC"), salt, keyBytes, { ...cost, maxmem: maxMemory });

export interface SealOptions {
  readonly passphrase: string;
  /** Returns this many cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array;
}

/**
 * Encrypts with scrypt and AES-256-GCM.
 *
 * @param bound - Bytes that the reader must have, too: the digest of the list of all other files.
 * @returns Salt, nonce, ciphertext and tag.
 */
export async function encrypt(
  plain: Buffer,
  bound: Uint8Array,
  { passphrase, random }: SealOptions,
): Promise<Buffer> {
  const salt = Buffer.from(random(saltBytes));
  const nonce = random(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", await keyOf(passphrase, salt), nonce);
  cipher.setAAD(bound);
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([salt, nonce, body, cipher.getAuthTag()]);
}

/** @returns Undefined if the passphrase is wrong, or something was changed. */
export async function decrypt(
  sealed: Buffer,
  passphrase: string,
  bound: Buffer,
): Promise<Buffer | undefined> {
  if (sealed.length < saltBytes + nonceBytes + tagBytes) return undefined;
  const salt = sealed.subarray(0, saltBytes);
  const nonce = sealed.subarray(saltBytes, saltBytes + nonceBytes);
  const options = { authTagLength: tagBytes };
  const key = await keyOf(passphrase, salt);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, options);
  decipher.setAAD(bound);
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  const body = sealed.subarray(saltBytes + nonceBytes, -tagBytes);
  try {
    return Buffer.concat([decipher.update(body), decipher.final()]);
  } catch {
    return undefined;
  }
}
