// Creates TLS certificates for tests.
import { generateKeyPairSync, sign } from "node:crypto";

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
