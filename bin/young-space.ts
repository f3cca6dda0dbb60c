/**
 * Keeps V8's space for new objects small while the launcher starts. Otherwise it grows to 16 MiB
 * for code that is loaded once, and V8 returns it only after 20 s without work
 * (docs/performance.md).
 */
import { versions } from "node:process";
import { setFlagsFromString } from "node:v8";

/** V8 of later versions may not have the flag, and writes a message then. */
const newestKnown = 24;

/** @param factor - 1: the space does not grow. 2 is V8's default. */
function setGrowthFactor(factor: 1 | 2): void {
  const [major = ""] = versions.node.split(".", 1);
  if (Number(major) <= newestKnown) setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

/** Call it before compiled code is read: V8 accepts only code that was written with these flags. */
export const limitYoungSpace = (): void => setGrowthFactor(1);
/** Lets the space grow with the load, as V8 does by default. */
export const releaseYoungSpace = (): void => setGrowthFactor(2);
