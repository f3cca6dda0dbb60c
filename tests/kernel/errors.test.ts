import { describe, expect, test } from "vitest";
import { codeOf, DoorwardError, errorTable } from "../../kernel/index.ts";

const errors = errorTable({
  NOT_HERE: "It is not here.",
  NOT_THERE: (place: string, why: string) => `It is not in ${place}: ${why}.`,
});

describe("errorTable", () => {
  test("creates errors with code, sentence, details and cause", () => {
    const cause = new Error("below");
    const plain = errors.NOT_HERE({ details: { tried: 3 }, cause });
    expect(plain).toBeInstanceOf(DoorwardError);
    expect(plain).toMatchObject({
      code: "NOT_HERE",
      message: "It is not here.",
      details: { tried: 3 },
      cause,
    });
    expect(errors.NOT_THERE("Rome", "closed", { details: { at: 1 } })).toMatchObject({
      code: "NOT_THERE",
      message: "It is not in Rome: closed.",
      details: { at: 1 },
    });
    expect(errors.NOT_HERE()).not.toHaveProperty("cause");
  });

  test("reads codes of other package copies, and `internal` otherwise", () => {
    expect(codeOf(errors.NOT_HERE())).toBe("NOT_HERE");
    expect(codeOf({ name: "DoorwardError", code: "OTHER_COPY" })).toBe("OTHER_COPY");
    const system = Object.assign(new Error("no entry"), { code: "ENOENT" });
    for (const thrown of [system, "text", null, undefined, 7, { name: "DoorwardError", code: 7 }]) {
      expect(codeOf(thrown)).toBe("internal");
    }
  });
});
