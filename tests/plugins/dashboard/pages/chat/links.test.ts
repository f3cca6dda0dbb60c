// Tests the addresses and character references of markdown.
import { describe, expect, test } from "vitest";
import {
  decodeReferences,
  safeHref,
} from "../../../../../plugins/dashboard/pages/chat/markdown/links.ts";

describe("safeHref", () => {
  test.each(["https://example.org", "http://a", "mailto:a@b", "/docs", "docs#a", "//a.b", "?q=1"])(
    "accepts %s",
    (href) => {
      expect(safeHref(href)).toBe(href);
    },
  );

  test.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "\u0001javascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://a/b",
    "https://[",
  ])("rejects %j", (href) => {
    expect(safeHref(href)).toBeUndefined();
  });
});

describe("decodeReferences", () => {
  test("decodes names and numbers, and leaves the rest", () => {
    expect(decodeReferences("a &amp; b &lt;i&gt; &#39;&#x27; &unknown; &")).toBe(
      "a & b <i> '' &unknown; &",
    );
    expect(decodeReferences("&#0;&#xd800;&#9999999;")).toBe("\ufffd\ufffd\ufffd");
  });
});
