import { describe, expect, test } from "vitest";
import type { DoctorFacts } from "../../../plugins/dashboard/index.ts";
import { NOW, checks } from "../../support/doctor-harness.ts";
import { withHome } from "../../support/token-store-harness.ts";

describe("runDoctor", () => {
  test("lists recently rejected and blocked clients only", () =>
    withHome(async (home) => {
      const wrong = {
        at: NOW - 90_000,
        title: "Wrong token",
        detail: "header · 10.0.0.9 · 12 times",
        fix: "compare",
      };
      const blocked = {
        at: NOW - 5_000,
        title: "Too many",
        detail: "header · 10.0.0.8",
        blockedUntil: NOW + 39_500,
      };
      const old = { ...wrong, at: NOW - 11 * 60_000 };
      const reason = async (refusals: DoctorFacts["refusals"]) =>
        (await checks(home, { running: { refusals } }))["refused-clients"]?.reason;
      expect(await reason([blocked, wrong, old])).toBe(
        "Too many (header · 10.0.0.8), 5 s ago, blocked for another 40 s. " +
          "Wrong token (header · 10.0.0.9 · 12 times), 2 min ago.",
      );
      expect(await reason([wrong, wrong, wrong, wrong])).toMatch(/ And 1 more\.$/);
      expect(await reason([old])).toBe("None in the last 10 minutes.");
      expect((await checks(home))["refused-clients"]).toBeUndefined();
    }));
});
