import { describe, test } from "vitest";
import { checkStoreLaw } from "../conformance/store-law.ts";
import { runs } from "../support/runs.ts";

describe("SqliteStore", () => {
  test("keeps what it acknowledged, and nothing that was forgotten", () => checkStoreLaw(runs(75)));
});
