/** Types of sign-ins, their links and their cookies, for the rest of the dashboard. @module */
import type { Release } from "../../../../kernel/index.ts";
import type { DashboardEvents } from "../service.ts";

export type SignInMethod = DashboardEvents["dashboard:signed-in"]["via"];
export type SignOutReason = DashboardEvents["dashboard:signed-out"]["reason"];

export interface SignInSession {
  /** SHA-256 of the secret part of the cookie, in hex. The secret itself is only in the browser. */
  readonly digest: string;
  /** First 8 hex digits of the digest: names the session in events, logs and lists. */
  readonly signIn: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly address: string;
  readonly userAgent: string;
  /** Version of the launcher token that opened this session. */
  readonly version: number;
  /**
   * The sign-in whose link opened this one. When it ends, this one ends too. Undefined if the
   * launcher token opened this session.
   */
  readonly maker: SignInSession | undefined;
  /** True if the session check of an embedding host opened it. It is never stored. */
  readonly ofHost: boolean;
  /** True if it began before the current start. */
  readonly restored: boolean;
  lastUsedAt: number;
  used: boolean;
  /** Proven origins of its pages, in lower case. Behind a proxy they may differ from the `Host`. */
  readonly pageOrigins: Set<string>;
  /** Callbacks for the end of the session. */
  readonly ended: Set<(reason: string) => void>;
  /** Undefined while the session is live. */
  endedBy: SignOutReason | undefined;
  cancelExpiry: Release;
}

/** When a browser signs in beyond this number, the least recently used sign-in ends. */
export const maxSessions = 25;

/** A sign-in as it is stored between two starts, without the secret of its cookie. */
export interface SessionRecord extends Pick<
  SignInSession,
  "digest" | "createdAt" | "expiresAt" | "lastUsedAt" | "used" | "address" | "userAgent"
> {
  /** Digest of the maker. */
  readonly maker?: string | undefined;
}

/** One-time sign-in links, see `createSignInLinks`. */
export interface SignInLinkStore {
  /** @param maker - The sign-in that requests the link; undefined if the owner does. */
  mint(
    version: number,
    maker?: SignInSession,
  ): { readonly link: string; readonly expiresAt: number };
  /** Invalidates all links of a maker; undefined means the owner. */
  cancel(maker: SignInSession | undefined): void;
  /** Invalidates a link. @returns Its maker if the link was valid, else undefined. */
  redeem(link: string, version: number): { readonly maker: SignInSession | undefined } | undefined;
}

/** Signs cookies, see `tokenSigner`. */
export interface TokenSigner {
  sign(value: string): string;
  /** @returns The value, or undefined if the signature does not match. */
  unsign(signed: string): string | undefined;
}
