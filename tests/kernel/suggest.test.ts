import { expect, test } from "vitest";
import { didYouMean } from "../../kernel/index.ts";
import { closestMatch } from "../../kernel/suggest.ts";

test.each([
  ["allow_origin", "allow_origins"],
  ["max_conections", "max_connections"],
  ["enabeld", "enabled"],
])("%s is taken for %s", (typed, meant) => {
  expect(
    closestMatch(typed, ["enabled", "allow_origins", "max_connections", "ping_interval"]),
  ).toBe(meant);
});

test("a word that is nobody's slip gets no suggestion", () => {
  expect(closestMatch("telegram", ["pico", "pico_client"])).toBeUndefined();
  expect(
    closestMatch("SERVICE_CHANNELS_TELEGRAM_ENABLED", ["SERVICE_CHANNELS_PICO_ENABLED"]),
  ).toBeUndefined();
  expect(didYouMean("telegram", ["pico"])).toBe("");
});

test("the suggestion follows a sentence", () => {
  expect(didYouMean("gatway", ["gateway"])).toBe(' Did you mean "gateway"?');
});

test("an enormous word is judged quickly", () => {
  const started = process.cpuUsage();
  closestMatch("x".repeat(1_000_000), ["gateway", "channels"]);
  expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
});
