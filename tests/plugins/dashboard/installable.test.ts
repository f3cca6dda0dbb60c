import { describe, expect, test } from "vitest";
import { safety } from "../../support/http-client.ts";
import { signIn, startDashboard } from "../../support/dashboard-server.ts";

const policy = safety["content-security-policy"];
const wider =
  policy.replace("trusted-types 'none'", "trusted-types doorward-worker") + "; manifest-src 'self'";
const fixed = [
  "/manifest.webmanifest",
  "/sw.js",
  "/icon.svg",
  "/icon-192.png",
  "/icon-512.png",
  "/icon-maskable-512.png",
  "/apple-touch-icon.png",
];

/** Width and height in the header of a PNG. */
async function sizeOf(response: Response): Promise<readonly number[]> {
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(bytes.subarray(1, 4).toString()).toBe("PNG");
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}

describe("installable page", () => {
  test.each(["", "/door"])("serves its files without a sign-in below %j", async (basePath) => {
    await using server = await startDashboard(basePath ? { basePath } : {});
    for (const path of fixed) {
      const response = await server.get(basePath + path);
      expect([path, response.status]).toEqual([path, 200]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        ...safety,
        ...(path === "/sw.js" && {
          "content-security-policy": "default-src 'none'; connect-src 'self'",
        }),
      });
    }
    const manifest = (await (await server.get(`${basePath}/manifest.webmanifest`)).json()) as {
      readonly [name: string]: string;
    } & { readonly icons: readonly { readonly src: string; readonly sizes: string }[] };
    expect(manifest).toMatchObject({
      id: `${basePath}/`,
      start_url: `${basePath}/chat`,
      scope: `${basePath}/`,
      display: "standalone",
    });
    for (const { src, sizes } of manifest.icons)
      expect((await sizeOf(await server.get(src))).join("x")).toBe(sizes);
  });

  test("gives the worker neither a cache nor a handler of requests", async () => {
    await using server = await startDashboard();
    const response = await server.get("/sw.js");
    expect(response.headers.get("cache-control")).toBe("no-cache");
    const code = (await response.text()).replace(/\/\/.*|\/\*[^]*?\*\//g, "");
    expect(code).not.toMatch(/addEventListener\(\s*["']fetch|\bcaches\b|importScripts|indexedDB/);
  });

  test("widens the policy by two words, on pages that register", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    const policyOf = async (path: string, host?: string) =>
      (await server.open(path, { ...session, ...(host && { host }) })).headers.get(
        "content-security-policy",
      );
    for (const path of ["/chat", "/chat/a", "/settings/notifications"])
      expect(await policyOf(path)).toBe(wider);
    for (const path of ["/overview", "/settings", "/security", "/docs", "/nowhere", "/login"])
      expect([path, await policyOf(path)]).toEqual([path, policy]);
  });

  test("offers neither worker nor manifest under the private name", async () => {
    await using server = await startDashboard();
    const { privateUrl = "" } = server.kernel.services.signInLinks.mint();
    const { host, pathname, search } = new URL(privateUrl);
    const opened = await server.open(pathname + search, { host });
    const cookie = opened.headers.getSetCookie().map((each) => each.split(";", 1)[0]!);
    const response = await server.open("/chat", { host, cookie: cookie.join("; ") });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-security-policy")).toBe(policy);
    expect(await response.text()).not.toMatch(/manifest|isInstallable/);
    const page = await server.open("/settings/notifications", { host, cookie: cookie.join("; ") });
    expect(page.headers.get("content-security-policy")).toBe(policy);
    expect(await page.text()).toContain(`http://localhost:${server.port}/settings/notifications`);
  });
});
