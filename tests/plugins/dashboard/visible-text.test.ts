import { describe, expect, test } from "vitest";
import { visibleText } from "../../../plugins/dashboard/shared/visible-text.ts";

describe("visibleText", () => {
  test("shows controls, direction overrides and invisible characters", () => {
    expect(visibleText("rm \u202Ea\u0000\u200B\u001B[8m\u{E0041}")).toBe(
      "rm ⟨U+202E⟩a⟨U+0000⟩⟨U+200B⟩⟨U+001B⟩[8m⟨U+E0041⟩",
    );
    expect(visibleText("ls\rrm\u2028x\u2066\uFEFF\u00AD")).toBe(
      "ls⟨U+000D⟩rm⟨U+2028⟩x⟨U+2066⟩⟨U+FEFF⟩⟨U+00AD⟩",
    );
  });

  test("keeps lines, tabs, emoji and other scripts", () => {
    const text = "one\n\ttwo 👩‍💻 می‌خواهم é 漢字";
    expect(visibleText(text)).toBe(text);
    expect(visibleText("a\r\nb")).toBe("a\nb");
  });
});
