import { type PicoTestServerOptions } from "./pico-server-harness.ts";

/** Encodes a token for the subprotocol `token64.`. */
export const b64 = (text: string): string => Buffer.from(text).toString("base64url");

/** Records the values that the token store compares. */
export const recordCompared =
  (compared: string[]): NonNullable<PicoTestServerOptions["verify"]> =>
  (verify) =>
  (name, value) => {
    compared.push(value);
    return verify(name, value);
  };

/** A header line that offers these subprotocols. */
export const protocol = (list: string): string => `Sec-WebSocket-Protocol: ${list}`;
