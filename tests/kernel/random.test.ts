import { describe, expect, test } from "vitest";
import { createRandom } from "../../kernel/defaults.ts";

describe("createRandom", () => {
  test("returns the requested number of bytes, also across blocks", () => {
    const random = createRandom();
    const sizes = [0, 1, 4_000, 96, 4_096, 7, 4_090, 4_097, 10_000, 3];
    expect(sizes.map((bytes) => random(bytes).length)).toEqual(sizes);
  });

  test("returns no bytes twice", () => {
    const random = createRandom();
    const all = Array.from({ length: 2_000 }, () => Buffer.from(random(12)).toString("hex"));
    expect(new Set(all).size).toBe(all.length);
    expect(all).not.toContain("00".repeat(12));
  });

  test("returns arrays that share no memory", () => {
    const random = createRandom();
    const first = random(16);
    const before = Buffer.from(first).toString("hex");
    const second = random(16).fill(0);
    expect(Buffer.from(first).toString("hex")).toBe(before);
    expect(second.buffer).not.toBe(first.buffer);
  });
});
