// Tests the sentences about missing rights.
import { describe, expect, test } from "vitest";
import { noStopRight, whyNotAllowed } from "../../../../plugins/pico-server/session/rights.ts";

describe.each([
  ["key:ci", "This key"],
  ["host:ann", "This sign-in"],
])("a person %s without rights", (id, who) => {
  const person = { sender: { id }, may: new Set<never>() };

  test("learns which right is missing", () => {
    expect(whyNotAllowed(person, "write")).toBe(`${who} does not have the right "write".`);
    expect(noStopRight(person)).toBe(`${who} has neither the right "stop" nor the right "write".`);
  });
});
