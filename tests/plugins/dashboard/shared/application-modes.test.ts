import { expect, test } from "vitest";
import { actsWithoutAsking } from "../../../../plugins/dashboard/shared/application-modes.ts";

test.each([
  [{ id: "bypassPermissions", name: "Careless" }, true],
  [{ id: "x", name: "YOLO" }, true],
  [{ id: "full-access" }, true],
  [{ id: "auto", name: "Auto" }, true],
  [{ id: "dontAsk" }, true],
  [{ id: "x", name: "Don’t ask" }, true],
  [{ id: "free", unguarded: true }, true],
  [{ id: "default", name: "Ask first" }, false],
  [{ id: "plan", name: "Plan", unguarded: false }, false],
])("marks the mode %j as %s", (mode, marked) => {
  expect(actsWithoutAsking(mode)).toBe(marked);
});
