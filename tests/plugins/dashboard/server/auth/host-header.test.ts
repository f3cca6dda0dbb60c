import { hostname } from "node:os";
import { describe, expect, test } from "vitest";
import { get as rawGet, raw } from "../../../../support/http-client.ts";
import {
  TOKEN,
  rejection,
  startDashboard,
  wrongToken,
} from "../../../../support/dashboard-server.ts";

describe("Host header", () => {
  const names = (port: number): [string, boolean][] => [
    ["localhost", true],
    [`localhost:${port}`, true],
    ["LOCALHOST", true],
    ["localhost.", true],
    ["door.localhost", true],
    ["127.0.0.1", true],
    ["192.168.1.20:80", true],
    ["[::1]:18800", true],
    ["[fe80::1]", true],
    ["evil.example", false],
    [`evil.example:${port}`, false],
    ["127.0.0.1.evil.example", false],
    ["localhost.evil.example", false],
    ["notlocalhost", false],
    ["1.2.3", false],
    [hostname(), false],
    [`${hostname()}.local`, false],
  ];

  test("passes localhost, its subdomains and IP addresses only", async () => {
    await using server = await startDashboard();
    for (const [host, passes] of names(server.port)) {
      const answer = await server.get("/api/auth/status", { host });
      if (passes) expect([host, answer.status]).toEqual([host, 200]);
      else {
        const body = await rejection(answer, 403, "host_not_allowed");
        expect(body["message"]).toContain(host);
        expect(body["hint"]).toContain("allowed_hosts");
      }
    }
  });

  test("passes names and wildcards of allowed_hosts", async () => {
    await using server = await startDashboard({
      launcher: { allowed_hosts: ["Door.Example.org", "*.lan.example"] },
    });
    const status = async (host: string): Promise<number> =>
      (await server.get("/api/auth/status", { host })).status;
    for (const host of [
      "door.example.org",
      "DOOR.example.org:443",
      "a.lan.example",
      "b.a.lan.example",
    ])
      expect(await status(host)).toBe(200);
    for (const host of [
      "example.org",
      "x.door.example.org",
      "lan.example",
      "xlan.example",
      ".lan.example",
    ])
      expect(await status(host)).toBe(403);
  });

  test("passes machine names if the listener is public", async () => {
    await using server = await startDashboard({ host: "0.0.0.0" });
    for (const host of [hostname(), `${hostname().toUpperCase()}:80`, `${hostname()}.local`]) {
      expect([host, (await server.get("/api/auth/status", { host })).status]).toEqual([host, 200]);
    }
    await rejection(
      await server.get("/api/auth/status", { host: "evil.example" }),
      403,
      "host_not_allowed",
    );
  });

  test("answers 400 if it is missing or repeated", async () => {
    await using server = await startDashboard();
    expect((await rawGet(server.port, "/api/auth/status", [])).status).toBe(400);
    expect(
      (await rawGet(server.port, "/api/auth/status", ["Host: localhost", "Host: evil.example"]))
        .status,
    ).toBe(400);
    expect((await rawGet(server.port, "/api/auth/status", ["Host:"])).status).toBe(400);
  });

  test("does not matter to /healthz and /readyz", async () => {
    await using server = await startDashboard();
    for (const path of ["/healthz", "/readyz"]) {
      expect((await server.get(path, { host: "evil.example" })).status).toBe(200);
      expect((await rawGet(server.port, path, [])).status).toBe(200);
      expect((await rawGet(server.port, path, ["Host: a", "Host: b"])).status).toBe(200);
      expect((await raw(server.port, `GET ${path} HTTP/1.0\r\n\r\n`)).status).toBe(200);
    }
  });

  test("leads to an error page and prevents any action", async () => {
    await using server = await startDashboard();
    const page = await server.open("/", { host: "evil.example" });
    expect([page.status, page.headers.get("content-type")]).toEqual([
      403,
      "text/html; charset=utf-8",
    ]);
    const text = await page.text();
    expect(text).toContain("allowed_hosts");
    const styles = [...text.matchAll(/<link rel="stylesheet" href="([^"]+)"/g)];
    expect(styles.length).toBeGreaterThan(0);
    for (const [, path = ""] of styles)
      expect((await server.get(path, { host: "evil.example" })).status).toBe(200);
    for (const path of ["/login", "/setup", "/logout", "/nowhere", "/api/status"]) {
      await rejection(
        await server.post(path, { token: TOKEN }, { host: "evil.example" }),
        403,
        "host_not_allowed",
      );
    }
    await rejection(
      await server.get(`/?token=${wrongToken(1)}`, { host: "evil.example" }),
      403,
      "host_not_allowed",
    );
    expect(server.facts).toEqual([]);
  });

  test("yields to X-Forwarded-Host of trusted proxies only", async () => {
    await using plain = await startDashboard();
    expect(
      (await plain.get("/api/auth/status", { "x-forwarded-host": "evil.example" })).status,
    ).toBe(200);
    expect(
      plain.lines.filter(({ level, text }) => level === "warn" && text.includes("trusted_proxies")),
    ).toHaveLength(1);
    await using behind = await startDashboard({
      launcher: { trusted_proxies: ["127.0.0.1"], allowed_hosts: ["door.example.org"] },
    });
    expect(
      (
        await behind.get("/api/auth/status", {
          "x-forwarded-host": "door.example.org",
          host: "inner",
        })
      ).status,
    ).toBe(200);
    await rejection(
      await behind.get("/api/auth/status", { "x-forwarded-host": "evil.example" }),
      403,
      "host_not_allowed",
    );
  });
});
