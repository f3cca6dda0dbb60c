import { describe, expect, test } from "vitest";
import { get as rawGet } from "../../support/http-client.ts";
import {
  TOKEN,
  cookieFrom,
  inSetup,
  isIn,
  mintLink,
  refusal,
  setCookieOf,
  startDashboard,
  wrong,
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
    await using stand = await startDashboard({ basePath });
    await using fresh = await startDashboard({ basePath, form: inSetup() });
    const at = (path: string): string => `${basePath}${path}`;
    expect(where(await stand.open(at("/?a=1")))).toEqual([
      302,
      at(`/login?next=${encodeURIComponent("/?a=1")}`),
    ]);
    expect(where(await stand.open(basePath))).toEqual([302, at("/login?next=%2F")]);
    expect(where(await stand.open(at(`/?token=${wrong(1)}`)))).toEqual([
      302,
      at("/login?error=invalid_token"),
    ]);
    expect(where(await stand.form(at("/login"), { token: TOKEN, next: "/place" }))).toEqual([
      303,
      at("/place"),
    ]);
    expect(where(await stand.form(at("/logout"), {}))).toEqual([303, at("/login")]);
    expect(where(await stand.open(at("/setup")))).toEqual([302, at("/")]);
    expect(where(await stand.form(at("/setup"), {}))).toEqual([303, at("/")]);
    expect(where(await fresh.open(at("/")))).toEqual([302, at("/setup")]);
    expect(where(await fresh.open(at("/login")))).toEqual([302, at("/setup")]);
    expect(where(await fresh.open(at(`/?token=${TOKEN}`)))).toEqual([303, at("/setup")]);
    expect(where(await fresh.form(at("/login"), { token: TOKEN }))).toEqual([303, at("/setup")]);
    expect(
      (await refusal(await fresh.post(at("/login"), { token: TOKEN }), 409, "setup_required"))[
        "hint"
      ],
    ).toBe(at("/setup"));
    expect((await refusal(await fresh.get(at("/api/status")), 403, "setup_required"))["hint"]).toBe(
      at("/setup"),
    );
    expect(where(await fresh.form(at("/setup"), { code: TOKEN, keep: "true" }))).toEqual([
      303,
      at("/"),
    ]);
  });

  test("allows sign-in by link with a cookie for all paths", async () => {
    await using stand = await startDashboard({ basePath });
    const { path, copyPath } = stand.kernel.services.signInLinks.mint();
    expect([path, copyPath].every((link) => link.startsWith(`${basePath}/`))).toBe(true);
    const answer = await stand.open(path);
    expect(where(answer)).toEqual([303, `${basePath}/`]);
    expect(setCookieOf(answer)).toContain("; Path=/;");
    const cookie = cookieFrom(answer);
    expect((await stand.get(`${basePath}/api/status`, { cookie })).status).toBe(200);
    const { url } = (await (
      await stand.post(`${basePath}/api/signin-links`, undefined, { cookie })
    ).json()) as { url: string };
    expect(url.startsWith(`${stand.origin}${basePath}/login?link=ott_`)).toBe(true);
    expect(where(await stand.open(`${basePath}/login?next=/place`, { cookie }))).toEqual([
      303,
      `${basePath}/place`,
    ]);
  });

  test("precedes every link, form and asset of every page", async () => {
    await using stand = await startDashboard({ basePath });
    await using fresh = await startDashboard({ basePath, form: inSetup() });
    const cookie = cookieFrom(await stand.post(`${basePath}/login`, { token: TOKEN }));
    const pages = [
      await stand.open(`${basePath}/login`),
      await stand.open(`${basePath}/login?link=${mintLink(stand)}`),
      await fresh.open(`${basePath}/setup`),
      await stand.open(`${basePath}/`, { cookie }),
      await stand.open(`${basePath}/nowhere`, { cookie }),
    ];
    for (const page of pages) {
      const found = links(await page.text()).filter((link) => !link.startsWith("#"));
      expect(found.length).toBeGreaterThan(2);
      for (const link of found) {
        expect(link.startsWith(`${basePath}/`)).toBe(true);
        expect((await stand.get(link, { cookie })).status).not.toBe(404);
      }
    }
  });

  test("limits the served paths", async () => {
    await using stand = await startDashboard({ basePath });
    for (const path of [
      "/",
      "/login",
      "/healthz",
      "/outer",
      "/outer/doors",
      "/outer/door2/login",
      "/outer/door/../login",
    ]) {
      expect([path, (await rawGet(stand.port, path)).status]).toEqual([path, 404]);
    }
    expect((await stand.get(`${basePath}/healthz`)).status).toBe(200);
    expect(await isIn(stand, {})).toBe(false);
  });
});
