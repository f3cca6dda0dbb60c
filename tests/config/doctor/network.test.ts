// Tests what the doctor says about a WebSocket that did not open.
import { describe, expect, test } from "vitest";
import { NOW, checks } from "../../support/doctor-harness.ts";
import { withHome } from "../../support/token-store-harness.ts";

describe("check proxy-upgrade", () => {
  const rejection = {
    at: NOW,
    title: "Sign-in does not count",
    detail: "127.0.0.1",
    fix: "fix it",
  };
  async function checkOf(running: object) {
    const found: Awaited<ReturnType<typeof checks>>[] = [];
    await withHome(async (home) => void found.push(await checks(home, { running })));
    return found[0]!["proxy-upgrade"];
  }

  test("blames the header Upgrade only if the handshake did not arrive", async () => {
    for (const running of [{}, { rejection: { ...rejection, code: "upgrade_required" } }])
      expect((await checkOf({ upgrade: false, ...running }))?.reason).toContain("header Upgrade");
    const check = await checkOf({
      upgrade: false,
      rejection: { ...rejection, code: "sign_in_rejected" },
    });
    expect(check).toMatchObject({ result: "failed", fix: "fix it" });
    expect(check?.reason).toContain("rejected it (sign_in_rejected): Sign-in does not count.");
    expect(check?.reason).not.toContain("Upgrade");
  });
});
