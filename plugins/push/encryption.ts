// Encrypts messages for one browser (RFC 8291) and signs requests to its push service (RFC 8292).
import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  generateKeyPairSync,
  hkdfSync,
  sign,
  type ECDH,
} from "node:crypto";

/** Keys of a subscription, as the browser gives them (base64url). */
export interface BrowserKeys {
  /** Public key of the browser: a point of P-256, 65 bytes. */
  readonly p256dh: string;
  /** 16 random bytes of the browser. */
  readonly auth: string;
}

/** A private key of P-256 as JSON Web Key: `x`, `y` and `d`. */
export interface VapidKey {
  readonly kty: string;
  readonly crv: string;
  readonly x: string;
  readonly y: string;
  readonly d: string;
}

const curve = "prime256v1";
/** One record holds the whole message. */
const recordSize = 4_096;
const tagBytes = 16;
const headerBytes = 86;
/** The largest message: the record holds a delimiter and the tag too, and some services accept no
 *  body of more than 4,096 bytes. */
export const maxMessageBytes = recordSize - headerBytes - tagBytes - 1;

const fromBase64 = (text: string): Buffer => Buffer.from(text, "base64url");

const derive = (salt: Buffer, secret: Buffer, info: Buffer, bytes: number): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, salt, info, bytes));

/** @returns Whether keys have the right form: lengths, and a point of the curve. */
export function areBrowserKeys({ p256dh, auth }: BrowserKeys): boolean {
  if (fromBase64(auth).length !== 16 || fromBase64(p256dh).length !== 65) return false;
  const ecdh = createECDH(curve);
  ecdh.generateKeys();
  try {
    ecdh.computeSecret(fromBase64(p256dh));
    return true;
  } catch {
    return false;
  }
}

/** @returns Key and nonce of the one record (RFC 8291, section 3.4). */
export function recordKeys(
  shared: Buffer,
  { auth, salt, browser, server }: Readonly<Record<"auth" | "salt" | "browser" | "server", Buffer>>,
): { readonly key: Buffer; readonly nonce: Buffer } {
  const about = Buffer.concat([Buffer.from("WebPush: info\0"), browser, server]);
  const secret = derive(auth, shared, about, 32);
  return {
    key: derive(salt, secret, Buffer.from("Content-Encoding: aes128gcm\0"), 16),
    nonce: derive(salt, secret, Buffer.from("Content-Encoding: nonce\0"), 12),
  };
}

/**
 * @param random - Returns this many random bytes.
 * @param own - The key pair of this message. A test fixes it.
 * @returns The body of the request, `Content-Encoding: aes128gcm`.
 */
export function encrypt(
  message: Buffer,
  keys: BrowserKeys,
  random: (bytes: number) => Uint8Array,
  own: ECDH = newPair(),
): Buffer {
  const salt = Buffer.from(random(16));
  const browser = fromBase64(keys.p256dh);
  const server = own.getPublicKey();
  const shared = own.computeSecret(browser);
  const { key, nonce } = recordKeys(shared, {
    auth: fromBase64(keys.auth),
    salt,
    browser,
    server,
  });
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  const size = Buffer.alloc(5);
  size.writeUInt32BE(recordSize);
  size.writeUInt8(server.length, 4);
  const lastRecord = Buffer.from([2]);
  return Buffer.concat([
    salt,
    size,
    server,
    cipher.update(message),
    cipher.update(lastRecord),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

function newPair(): ECDH {
  const pair = createECDH(curve);
  pair.generateKeys();
  return pair;
}

/** @returns A new key pair of this server. */
export function createVapidKey(): VapidKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: curve });
  const { kty = "", crv = "", x = "", y = "", d = "" } = privateKey.export({ format: "jwk" });
  return { kty, crv, x, y, d };
}

/** @returns The public key for `applicationServerKey` (base64url). */
export const publicKeyOf = ({ x, y }: VapidKey): string =>
  Buffer.concat([Buffer.from([4]), fromBase64(x), fromBase64(y)]).toString("base64url");

/** Services accept at most 24 hours. */
const validSeconds = 12 * 3_600;

/**
 * @param subject - The sender, for the people of the service: an `https:` or `mailto:` address.
 * @param now - Unix milliseconds.
 * @returns The value of `Authorization`.
 */
export function vapidHeader(endpoint: URL, subject: string, key: VapidKey, now: number): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const claims = {
    aud: endpoint.origin,
    exp: Math.floor(now / 1_000) + validSeconds,
    sub: subject,
  };
  const text = `${encode({ typ: "JWT", alg: "ES256" })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(text), {
    key: createPrivateKey({ key: { ...key }, format: "jwk" }),
    dsaEncoding: "ieee-p1363",
  });
  return `vapid t=${text}.${signature.toString("base64url")}, k=${publicKeyOf(key)}`;
}
