import { Signer } from "@fastify/cookie";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Tokens } from "../token-store/index.ts";

/** Without the white space that HTTP allows; other white space is part of the text. */
const trimHeaderSpace = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, "");

/** Every value of a cookie name, as sent: a name can arrive twice (other ports of this host, a planted one). */
export function cookieValues(header: string | undefined, name: string): string[] {
  return (header ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at < 0 || trimHeaderSpace(pair.slice(0, at)) !== name
      ? []
      : [trimHeaderSpace(pair.slice(at + 1))];
  });
}

interface VersionedSigner {
  readonly version: number;
  readonly salt: Uint8Array | undefined;
  readonly signer: Signer;
}

/**
 * Signs with a key derived from the launcher token: a new token makes every cookie invalid by itself.
 *
 * @param saltOf - Salt of the key; by default 32 random bytes of this process and purpose.
 */
export function tokenSigner(tokens: Tokens, purpose: string, saltOf?: () => Uint8Array) {
  let made: VersionedSigner | undefined;
  function signer(): Signer {
    const { version } = tokens.info("launcher");
    const salt = saltOf?.();
    if (made?.version !== version || made.salt !== salt) {
      const key = Buffer.from(tokens.derive("launcher", purpose, salt));
      made = { version, salt, signer: new Signer(key) };
    }
    return made.signer;
  }
  return {
    sign: (value: string) => signer().sign(value),
    unsign: (value: string) => signer().unsign(value),
  };
}
export type TokenSigner = ReturnType<typeof tokenSigner>;

/** Two names, or visits by http and by https lock each other out; cookies ignore ports, hence the instance. */
export function cookieName(
  kind: "session" | "setup",
  brand: string,
  instance: string,
  secure: boolean,
): string {
  return `${secure ? "__Host-" : ""}${brand}_${kind}_${instance}`;
}

export interface CookieOptions {
  readonly name: string;
  readonly secure: boolean;
}

/** Base64 and dots need no escapes; without them a value has one spelling, and any changed byte makes it another. */
const identity = String;

export function setCookie(
  reply: FastifyReply,
  { name, secure }: CookieOptions,
  signed: string,
  maxAge: number,
): void {
  void reply.setCookie(name, signed, {
    path: "/",
    httpOnly: true,
    sameSite: "lax",
    secure,
    maxAge,
    encode: identity,
  });
}
export function clearCookie(reply: FastifyReply, by: CookieOptions): void {
  setCookie(reply, by, "", 0);
}

export const hasCookie = (request: FastifyRequest, name: string): boolean =>
  cookieValues(request.headers.cookie, name).some((value) => value !== "");
