import { createHash } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import { isAlive, lifetime, type Lifetime } from "./lifetime.ts";

const LIFE_MS = 5 * 60_000;
const MAX_ALIVE = 20;
const digest = (link: string): string => createHash("sha256").update(link).digest("base64");

export const isLink = (value: string): boolean => value.startsWith("ott_");

/** One-time sign-in links: `ott_` and 32 random bytes; kept as digests, bound to the launcher token of their making. */
export function createLinks(clock: Clock, random: (bytes: number) => Uint8Array) {
  const alive = new Map<string, { version: number; life: Lifetime }>();
  return {
    mint(version: number): { link: string; expiresAt: number } {
      const link = `ott_${Buffer.from(random(32)).toString("base64url")}`;
      const life = lifetime(clock, LIFE_MS);
      alive.set(digest(link), { version, life });
      // Insertion order is age: the first key is the oldest.
      for (const oldest of alive.keys()) {
        if (alive.size <= MAX_ALIVE) break;
        alive.delete(oldest);
      }
      return { link, expiresAt: life.until };
    },
    /** True once for a live link; it is spent then. */
    redeem(link: string, version: number): boolean {
      const key = digest(link.trim());
      const found = alive.get(key);
      alive.delete(key);
      return found !== undefined && found.version === version && isAlive(clock, found.life);
    },
  };
}
export type Links = ReturnType<typeof createLinks>;
