import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rejection, signIn } from "../support/dashboard-server.ts";
import { request, startLauncherServer, type LauncherServer } from "../support/launcher-server.ts";

let testServer: LauncherServer;

beforeAll(async () => {
  testServer = await startLauncherServer();
});

afterAll(async () => {
  await testServer[Symbol.asyncDispose]();
});

describe("request path", () => {
  test.each([
    "/assets/../api/status",
    "/assets/%2e%2e/api/status",
    "/assets/..%2fapi/status",
    "/login/../api/status",
    "/login/%2e%2e/api/status",
    "/healthz/../api/status",
    "/healthz/..;/api/status",
    "//api/status",
    "/./api//status",
    "/api%2fstatus",
    "/api/status%00",
    "/api/status/",
    "/API/status",
    "/%61pi/status",
    "/\\api\\status",
    "/api/status;a=b",
    "/api/status%0d%0aX:y",
    "/api/status?next=/login",
    "/api/auth/status/../../status",
    "/api/auth/%2e%2e/status",
    "/pico/../api/status",
    "/assets/..%5c..%5cpackage.json",
    "/assets/%252e%252e/api/status",
    "/readyz/%2e%2e//api/status",
    "/api/x/../status",
    "/local/tokens",
    "/local/../local/tokens",
    "/metrics/../api/status",
    "/api/status#/login",
    "/%c0%ae%c0%ae/api/status",
    "/api/\u00e9",
    "/.%2e/.%2e/etc/passwd",
    "/assets/../../../etc/passwd",
  ])("in another spelling opens nothing: %s", async (path) => {
    const answer = await testServer.attack(request(`GET ${path}`));
    expect([400, 401, 404]).toContain(answer.status);
    expect(answer.body).not.toMatch(/running|root:|"name"/);
  });

  test("leads to 404 if it looks like a router pattern", async () => {
    const me = await signIn(testServer);
    for (const path of [
      "/a*b",
      "/*",
      "/:(",
      "/:a(((x+)+)+$)",
      "/api/sessions/:id(",
      "/a::b",
      "/:",
    ]) {
      await rejection(await testServer.get(path, me), 404, "not_found");
    }
  });

  test("leads to 404 if it belongs to the control socket", async () => {
    const me = await signIn(testServer);
    for (const path of ["/local", "/local/tokens", "/local/token/show", "/local/links"]) {
      await rejection(await testServer.post(path, { name: "pico" }, me), 404, "not_found");
    }
  });
});
