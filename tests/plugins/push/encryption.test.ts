import { createECDH, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  areBrowserKeys,
  createVapidKey,
  encrypt,
  maxMessageBytes,
  publicKeyOf,
  vapidHeader,
} from "../../../plugins/push/encryption.ts";
import { decrypt, vapidClaims } from "../../support/push-service.ts";

const from = (text: string): Buffer => Buffer.from(text, "base64url");

describe("encryption of notifications", () => {
  test("equals the example of RFC 8291", () => {
    const own = createECDH("prime256v1");
    own.setPrivateKey(from("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"));
    const keys = {
      p256dh:
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
      auth: "BTBZMqHH6r4Tts7J_aSIgg",
    };
    const salt = (): Buffer => from("DGv6ra1nlYgDCS1FRnbzlw");
    const text = Buffer.from("When I grow up, I want to be a watermelon");
    expect(encrypt(text, keys, salt, own).toString("base64url")).toBe(
      "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc" +
        "InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLV" +
        "WGNWQexSgSxsj_Qulcy4a-fN",
    );
  });

  test("reaches the browser whole, in one record of 4,096 bytes", () => {
    const pair = createECDH("prime256v1");
    pair.generateKeys();
    const auth = randomBytes(16);
    const keys = { p256dh: pair.getPublicKey("base64url"), auth: auth.toString("base64url") };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: maxMessageBytes, size: "max" }), (bytes) => {
        const body = encrypt(Buffer.from(bytes), keys, randomBytes);
        expect(body.length).toBeLessThanOrEqual(4_096);
        expect(decrypt(body, pair, auth).equals(Buffer.from(bytes))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    ["no point of the curve", Buffer.alloc(65, 4).toString("base64url"), 16],
    ["another length", randomBytes(33).toString("base64url"), 16],
    ["a short secret", createECDH("prime256v1").generateKeys("base64url"), 15],
  ])("rejects keys of %s", (_, p256dh, authBytes) => {
    expect(areBrowserKeys({ p256dh, auth: randomBytes(authBytes).toString("base64url") })).toBe(
      false,
    );
  });
});

describe("signature of requests", () => {
  /** RFC 8292, section 2.4. */
  const example =
    "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQ" +
    "iLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFO" +
    "epC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, k=BA1Hxzyi1RUM1b5wj" +
    "xsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs";

  test("signs the claims of RFC 8292 byte for byte", () => {
    const key = createVapidKey();
    const claims = { aud: "https://push.example.net", exp: 1_453_523_768 };
    expect(vapidClaims(example)).toEqual({ ...claims, sub: "mailto:push@example.com" });
    const now = (claims.exp - 12 * 3_600) * 1_000;
    const header = vapidHeader(
      new URL("https://push.example.net/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"),
      "mailto:push@example.com",
      key,
      now,
    );
    const signed = (text: string): string => text.split(".").slice(0, 2).join(".");
    expect(signed(header)).toBe(signed(example));
    expect(vapidClaims(header)).toEqual(vapidClaims(example));
    expect(header.endsWith(`k=${publicKeyOf(key)}`)).toBe(true);
  });
});
