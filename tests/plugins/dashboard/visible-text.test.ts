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

  test.each(["\u{E0100}", "\u{E01EF}", "\u3164", "\u115F", "\u034F", "\u2800", "\u200D", "\u200C"])(
    "shows %j between Latin letters",
    (character) => {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
      expect(visibleText(`r${character}m`)).toBe(`r⟨U+${code}⟩m`);
      expect(visibleText(character)).toBe(`⟨U+${code}⟩`);
    },
  );

  test("shows a selector behind a letter", () => {
    expect(visibleText("a\uFE0F 1\uFE0F")).toBe("a⟨U+FE0F⟩ 1⟨U+FE0F⟩");
  });

  test("keeps lines, tabs, emoji and other scripts", () => {
    const text = "one\n\ttwo 👩‍💻 ❤️ 1️⃣ 👍🏽 می‌خواهم क्‍ष é 漢字";
    expect(visibleText(text)).toBe(text);
    expect(visibleText("a\r\nb")).toBe("a\nb");
  });
});
