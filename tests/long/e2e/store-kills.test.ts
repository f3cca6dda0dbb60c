import { describe, expect, test } from "vitest";
import { killUnderLoad } from "../../support/store-kills.ts";

describe("launcher with conversations on disk", () => {
  test("loses no acknowledged message when it is killed", async () => {
    const report = await killUnderLoad(4);
    expect(report.acknowledged).toBeGreaterThan(4);
  });

  test("loses no acknowledged message when it is stopped", async () => {
    const report = await killUnderLoad(4, 4, "SIGTERM");
    expect(report.acknowledged).toBeGreaterThan(4);
  });
});
