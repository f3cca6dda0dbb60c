/** One-time sign-in links: `ott_` and 32 random bytes, good for five minutes, kept as digests only. @module */
import { createHash } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import { isUnexpired, expiresIn, type Expiry } from "./lifetime.ts";
import type { SignInSession } from "./sessions.ts";

const lifeMs = 5 * 60_000;
const maxAlive = 20;
const digest = (link: string): string => createHash("sha256").update(link).digest("base64");

export const isSignInLink = (value: string): boolean => value.startsWith("ott_");

interface LiveLink {
  /** Version of the launcher token when the link was made. */
  readonly version: number;
  readonly life: Expiry;
  readonly maker: SignInSession | undefined;
}

/** `isLive`: whether a sign-in that made a link still lives. */
export function createSignInLinks(
  clock: Clock,
  random: (bytes: number) => Uint8Array,
  isLive: (maker: SignInSession) => boolean,
) {
  const alive = new Map<string, LiveLink>();
  return {
    /** `maker`: the sign-in that asked for the link. Without one, the caller has proved to be the owner. */
    mint(version: number, maker?: SignInSession): { link: string; expiresAt: number } {
      const link = `ott_${Buffer.from(random(32)).toString("base64url")}`;
      const left = maker ? Math.min(lifeMs, maker.expiresAt - clock.now()) : lifeMs;
      const life = expiresIn(clock, left);
      alive.set(digest(link), { version, life, maker });
      // Insertion order is age: the first key is the oldest.
      for (const oldest of alive.keys()) {
        if (alive.size <= maxAlive) break;
        alive.delete(oldest);
      }
      return { link, expiresAt: life.until };
    },
    /** Spends a link. @returns its maker if the link was good, else undefined. */
    redeem(
      link: string,
      version: number,
    ): { readonly maker: SignInSession | undefined } | undefined {
      const key = digest(link.trim());
      const found = alive.get(key);
      alive.delete(key);
      if (!found || found.version !== version || !isUnexpired(clock, found.life)) return undefined;
      if (found.maker && !isLive(found.maker)) return undefined;
      return { maker: found.maker };
    },
  };
}
export type SignInLinkStore = ReturnType<typeof createSignInLinks>;
