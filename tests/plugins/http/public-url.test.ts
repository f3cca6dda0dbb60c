// Tests gateway.public_url and the links that begin with it.
import { describe, expect, test } from "vitest";
import { gatewaySchema } from "../../../plugins/http/config.ts";
import { createAddresses } from "../../../plugins/http/listeners.ts";

describe("gateway.public_url", () => {
  test.each(["https://chat.example.org", "http://[::1]:8080/", "https://example.org/agent/"])(
    "accepts %s",
    (public_url) => {
      expect(gatewaySchema.safeParse({ public_url }).success).toBe(true);
    },
  );

  test.each([
    "",
    "chat.example.org",
    "ftp://example.org",
    "javascript:alert(1)",
    "https://ann@example.org",
    "https://@example.org",
    "https://ann:secret@example.org",
    "https://example.org/?",
    "https://example.org/?a=1",
    "https://example.org/#",
    "https://example.org/a b",
    "https://example.org\n",
    `https://example.org/${"a".repeat(500)}`,
  ])("rejects %j", (public_url) => {
    const result = gatewaySchema.safeParse({ public_url });
    expect(result.success).toBe(false);
    expect(result.error?.message).not.toContain("secret");
  });
});

describe("Http.publicUrl", () => {
  test.each([
    ["https://a.example", "/agent", "https://a.example/agent/ask/s/1"],
    ["https://a.example/", "", "https://a.example/ask/s/1"],
    ["https://a.example/chat/", "/agent", "https://a.example/chat/ask/s/1"],
  ])("appends the path to %s with the base path %j", (url, basePath, expected) => {
    const { publish, publicUrl } = createAddresses({ basePath } as never);
    expect(publicUrl("/ask/s/1")).toBeUndefined();
    publish(() => url);
    expect(publicUrl("/ask/s/1")).toBe(expected);
  });
});
