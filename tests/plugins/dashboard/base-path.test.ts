import { describe, expect, test } from "vitest";
import { get as rawGet } from "../../support/http-client.ts";
import {
  TOKEN,
  cookieFrom,
  setupBackend,
  isSignedIn,
  createLoginLink,
  rejection,
  setCookieOf,
  startDashboard,
  wrongToken,
} from "../../support/dashboard-server.ts";

const basePath = "/outer/door";
const where = (answer: Response): [number, string | null] => [
  answer.status,
  answer.headers.get("location"),
];
const links = (page: string): string[] =>
  [...page.matchAll(/(?:href|src|action)="([^"]*)"/g)].map(([, link]) => link!);

describe("base path", () => {
  test("precedes every redirect", async () => {
    await using server = await startDashboard({ basePath });
    await using fresh = await startDashboard({ basePath, form: setupBackend() });
    const at = (path: string): string => `${basePath}${path}`;
    expect(where(await server.open(at("/?a=1")))).toEqual([
      302,
      at(`/login?next=${encodeURIComponent("/?a=1")}`),
    ]);
    expect(where(await server.open(basePath))).toEqual([302, at("/login?next=%2F")]);
    expect(where(await server.open(at(`/?token=${wrongToken(1)}`)))).toEqual([
      302,
      at("/login?error=invalid_token"),
    ]);
    expect(where(await server.form(at("/login"), { token: TOKEN, next: "/place" }))).toEqual([
      303,
      at("/place"),
    ]);
    expect(where(await server.form(at("/logout"), {}))).toEqual([303, at("/login")]);
    expect(where(await server.open(at("/setup")))).toEqual([302, at("/")]);
    expect(where(await server.form(at("/setup"), {}))).toEqual([303, at("/")]);
    expect(where(await fresh.open(at("/")))).toEqual([302, at("/setup")]);
    expect(where(await fresh.open(at("/login")))).toEqual([302, at("/setup")]);
    expect(where(await fresh.open(at(`/?token=${TOKEN}`)))).toEqual([303, at("/setup")]);
    expect(where(await fresh.form(at("/login"), { token: TOKEN }))).toEqual([303, at("/setup")]);
    expect(
      (await rejection(await fresh.post(at("/login"), { token: TOKEN }), 409, "setup_required"))[
        "hint"
      ],
    ).toBe(at("/setup"));
    expect(
      (await rejection(await fresh.get(at("/api/status")), 403, "setup_required"))["hint"],
    ).toBe(at("/setup"));
    expect(where(await fresh.form(at("/setup"), { code: TOKEN, keep: "true" }))).toEqual([
      303,
      at("/"),
    ]);
  });

  test("allows sign-in by link with a cookie for all paths", async () => {
    await using server = await startDashboard({ basePath });
    const { path, copyPath } = server.kernel.services.signInLinks.mint();
    expect([path, copyPath].every((link) => link.startsWith(`${basePath}/`))).toBe(true);
    const answer = await server.open(path);
    expect(where(answer)).toEqual([303, `${basePath}/`]);
    expect(setCookieOf(answer)).toContain("; Path=/;");
    const cookie = cookieFrom(answer);
    expect((await server.get(`${basePath}/api/status`, { cookie })).status).toBe(200);
    const { url } = (await (
      await server.post(`${basePath}/api/signin-links`, undefined, { cookie })
    ).json()) as { url: string };
    expect(url.startsWith(`${server.origin}${basePath}/login?link=ott_`)).toBe(true);
    expect(where(await server.open(`${basePath}/login?next=/place`, { cookie }))).toEqual([
      303,
      `${basePath}/place`,
    ]);
  });

  test("precedes every link, form and asset of every page", async () => {
    await using server = await startDashboard({ basePath });
    await using fresh = await startDashboard({ basePath, form: setupBackend() });
    const cookie = cookieFrom(await server.post(`${basePath}/login`, { token: TOKEN }));
    const pages = [
      await server.open(`${basePath}/login`),
      await server.open(`${basePath}/login?link=${createLoginLink(server)}`),
      await fresh.open(`${basePath}/setup`),
      await server.open(`${basePath}/overview`, { cookie }),
      await server.open(`${basePath}/nowhere`, { cookie }),
    ];
    for (const page of pages) {
      const found = links(await page.text()).filter((link) => !link.startsWith("#"));
      expect(found.length).toBeGreaterThan(2);
      for (const link of found) {
        expect(link.startsWith(`${basePath}/`)).toBe(true);
        expect((await server.get(link, { cookie })).status).not.toBe(404);
      }
    }
  });

  test("limits the served paths", async () => {
    await using server = await startDashboard({ basePath });
    for (const path of [
      "/",
      "/login",
      "/healthz",
      "/outer",
      "/outer/doors",
      "/outer/door2/login",
      "/outer/door/../login",
    ]) {
      expect([path, (await rawGet(server.port, path)).status]).toEqual([path, 404]);
    }
    expect((await server.get(`${basePath}/healthz`)).status).toBe(200);
    expect(await isSignedIn(server, {})).toBe(false);
  });
});

test("names the setting base_path in responses to other paths", async () => {
  await using server = await startDashboard({ basePath: "/door" });
  for (const path of ["/", "/login", "/pico", "/doors", "/assets/x.css"]) {
    const answer = await server.get(path);
    const { error, message } = (await answer.json()) as { error: string; message: string };
    expect([path, answer.status, error]).toEqual([path, 404, "not_found"]);
    expect(message).toMatch(/begin with \/door \("base_path" in launcher-config\.json\)/);
  }
});
