// Kills the launcher under load with conversations in a SQLite file.
import { expect, test } from "vitest";
import { rounds } from "../../support/runs.ts";
import { killUnderLoad } from "../../support/store-kills.ts";

/** 200 take six minutes. */
const kills = rounds(200);

test(
  "loses no acknowledged message and handles none twice over many kills",
  async () => {
    const report = await killUnderLoad(kills);
    process.stdout.write(`${JSON.stringify(report)}\n`);
    expect(report.acknowledged).toBeGreaterThan(kills);
    expect(report.duplicates).toBeGreaterThan(0);
  },
  30 * 60_000,
);
