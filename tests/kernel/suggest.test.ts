import { describe, expect, test } from "vitest";
import { didYouMean } from "../../kernel/index.ts";
import { closestMatch } from "../../kernel/suggest.ts";

describe("didYouMean", () => {
  test.each([
    ["allow_origin", "allow_origins"],
    ["max_conections", "max_connections"],
    ["enabeld", "enabled"],
  ])("suggests a word for a misspelt one: %s, %s", (typed, meant) => {
    expect(
      closestMatch(typed, ["enabled", "allow_origins", "max_connections", "ping_interval"]),
    ).toBe(meant);
  });

  test("suggests nothing for an unrelated word", () => {
    expect(closestMatch("telegram", ["pico", "pico_client"])).toBeUndefined();
    expect(
      closestMatch("SERVICE_CHANNELS_TELEGRAM_ENABLED", ["SERVICE_CHANNELS_PICO_ENABLED"]),
    ).toBeUndefined();
    expect(didYouMean("telegram", ["pico"])).toBe("");
  });

  test("formats the suggestion as a sentence to append", () => {
    expect(didYouMean("gatway", ["gateway"])).toBe(' Did you mean "gateway"?');
  });

  test("handles an enormous word quickly", () => {
    const started = process.cpuUsage();
    closestMatch("x".repeat(1_000_000), ["gateway", "channels"]);
    expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
  });
});
