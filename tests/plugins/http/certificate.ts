// Creates TLS certificates for tests.
import {
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
} from "node:crypto";

const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts);
const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");

/** Creates a self-signed certificate for localhost, 127.0.0.1, there.example and 198.51.100.1, as PEM. */
export function selfSigned(kind: "ec" | "rsa" = "ec"): { cert: string; key: string } {
  const { privateKey, publicKey } =
    kind === "ec"
      ? generateKeyPairSync("ec", { namedCurve: "prime256v1" })
      : generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const algorithm =
    kind === "ec"
      ? sequence(der(6, bytes("2a8648ce3d040302"))) // ecdsa-with-SHA256
      : sequence(der(6, bytes("2a864886f70d01010b")), der(5)); // sha256WithRSAEncryption
  const name = sequence(
    der(0x31, sequence(der(6, bytes("550403")), der(12, Buffer.from("localhost")))),
  );
  const validity = sequence(
    der(0x17, Buffer.from("200101000000Z")),
    der(0x17, Buffer.from("491231235959Z")),
  );
  // RFC 5280, section 4.2.1.6
  const names = sequence(
    ...["localhost", "there.example"].map((host) => der(0x82, Buffer.from(host))),
    ...["7f000001", "c6336401"].map((address) => der(0x87, bytes(address))),
  );
  const extensions = der(0xa3, sequence(sequence(der(6, bytes("551d11")), der(4, names))));
  const version = der(0xa0, der(2, bytes("02")));
  const body = sequence(
    version,
    der(2, bytes("01")),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    extensions,
  );
  const signature = der(3, bytes("00"), sign("sha256", body, privateKey));
  const lines = sequence(body, algorithm, signature)
    .toString("base64")
    .match(/.{1,64}/g)!;
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

const curve = { namedCurve: "prime256v1" } as const;
const ecdsaWithSha256 = sequence(der(6, bytes("2a8648ce3d040302")));
const distinguished = (name: string): Buffer =>
  sequence(der(0x31, sequence(der(6, bytes("550403")), der(12, Buffer.from(name)))));
const toPem = (content: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${content
    .toString("base64")
    .match(/.{1,64}/g)!
    .join("\n")}\n-----END CERTIFICATE-----\n`;
/** @returns Seconds of the time in the form of X.509 until 2049. */
const utcTime = (at: Date): Buffer =>
  der(0x17, Buffer.from(`${at.toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`));

interface Issued {
  readonly subject: string;
  readonly issuer: string;
  readonly key: KeyObject;
  readonly signedWith: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Absent: a certificate of an authority. */
  readonly address?: string;
}

function issue({ subject, issuer, key, signedWith, notBefore, notAfter, address }: Issued): Buffer {
  const extension =
    address === undefined
      ? sequence(
          der(6, bytes("551d13")), // basicConstraints
          der(1, bytes("ff")),
          der(4, sequence(der(1, bytes("ff")))),
        )
      : sequence(
          der(6, bytes("551d11")), // subjectAltName
          der(4, sequence(der(0x87, Buffer.from(address.split(".").map(Number))))),
        );
  const body = sequence(
    der(0xa0, der(2, bytes("02"))),
    der(2, Buffer.concat([bytes("01"), randomBytes(8)])),
    ecdsaWithSha256,
    distinguished(issuer),
    sequence(utcTime(notBefore), utcTime(notAfter)),
    distinguished(subject),
    createPublicKey(key).export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension)),
  );
  return sequence(body, ecdsaWithSha256, der(3, bytes("00"), sign("sha256", body, signedWith)));
}

const dayMs = 86_400_000;

/** A certificate for an IPv4 address, signed by an intermediate authority. */
export interface Chain {
  /** The certificate of the authority that clients trust. */
  readonly root: string;
  readonly leaf: string;
  readonly intermediate: string;
  readonly key: string;
}

/**
 * Creates a chain of three certificates.
 *
 * @param days - Days until the certificate of the address expires; below 0 it has expired.
 */
export function certificateChain(address = "127.0.0.1", days = 60): Chain {
  const keys = () => generateKeyPairSync("ec", curve).privateKey;
  const [rootKey, middleKey, key] = [keys(), keys(), keys()];
  const now = Date.now();
  const authority = {
    notBefore: new Date(now - 100 * dayMs),
    notAfter: new Date(now + 1_000 * dayMs),
    issuer: "Test root",
    signedWith: rootKey,
  };
  return {
    root: toPem(issue({ ...authority, subject: "Test root", key: rootKey })),
    intermediate: toPem(issue({ ...authority, subject: "Test intermediate", key: middleKey })),
    leaf: toPem(
      issue({
        subject: "Test server",
        issuer: "Test intermediate",
        key,
        signedWith: middleKey,
        notBefore: new Date(now - 30 * dayMs),
        notAfter: new Date(now + days * dayMs),
        address,
      }),
    ),
    key: key.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
