// Tests routing, base paths and header checks.
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { http, type Http } from "../../../plugins/http/index.ts";
import { get, portOf, raw } from "../../support/http-client.ts";

type Visit = (port: number, http: Http) => Promise<void>;

const serve = (routes: (http: Http) => void, visit: Visit, basePath = ""): Promise<void> =>
  withKernel([http({ port: 0, basePath })], async ({ kernel }) => {
    routes(kernel.services.http);
    await visit(portOf(kernel.services.http), kernel.services.http);
  });

const echo =
  (name: string) =>
  (service: Http): void =>
    service.request(
      name,
      (request, response) => void response.end(`${name} ${request.method} ${request.url}`),
    );

describe("Http.request", () => {
  test("selects the longest prefix of whole path segments", () =>
    serve(
      (service) => ["/", "/pico", "/pico/messages/"].forEach((path) => echo(path)(service)),
      async (port) => {
        const asked = [
          "/",
          "/picos",
          "/pico",
          "/pico/",
          "/pico/messages",
          "/pico/messages/1?a=b",
          "/pico/messagesx",
        ];
        const bodies = await Promise.all(asked.map(async (path) => (await get(port, path)).body));
        expect(bodies.map((body) => body.match(/(\/\S*) GET/)?.[1])).toEqual([
          "/",
          "/",
          "/pico",
          "/pico",
          "/pico/messages/",
          "/pico/messages/",
          "/pico",
        ]);
      },
    ));

  test("rejects a second handler for a route", () =>
    serve(echo("/a"), async (_, service) => {
      const taken = expect.objectContaining({ code: "HTTP_ROUTE_TAKEN" });
      expect(() => service.request("/a/", () => {})).toThrowError(taken);
    }));

  test.each([
    ["/assets/../api/status", "/api/status"],
    ["/assets/%2e%2e/api/status", "/api/status"],
    ["/assets/%2E./api/status", "/api/status"],
    ["//api///status", "/api/status"],
    ["/%61pi/status", "/api/status"],
    ["/./api/status/.", "/api/status/"],
    ["/../../api/status", "/api/status"],
    ["http://localhost/api/status", "/api/status"],
    ["/api/status?next=/../%2e%zz//", "/api/status?next=/../%2e%zz//"],
    ["/api/a%2fb", "/api/a%2Fb"],
    ["/api/%252e%252e/x", "/api/%252e%252e/x"],
    ["/api/\\..\\x", "/api/%5C..%5Cx"],
  ])("%s is served as %s", (asked, served) =>
    serve(echo("/api"), async (port) => {
      expect((await get(port, asked)).body).toContain(`/api GET ${served}`);
    }),
  );

  test.each(["/%zz", "/%", "/%e0%80", "/%ff", "/a#b", "ftp://x/", "*x"])(
    "rejects %s with the security headers",
    (target) =>
      serve(echo("/"), async (port) => {
        const answer = await get(port, target);
        expect(answer.status).toBe(400);
        expect(JSON.parse(answer.body)).toMatchObject({
          error: "invalid_request",
          message: expect.any(String),
        });
        expect(answer.headers["referrer-policy"]).toBe("no-referrer");
      }),
  );

  test("sends 500 without details if a handler throws or rejects", () =>
    serve(
      (service) => {
        service.request("/throws", () => {
          throw new Error("a hidden fact");
        });
        service.request("/rejects", () => Promise.reject(new Error("a hidden fact")));
      },
      async (port) => {
        for (const path of ["/throws", "/rejects"]) {
          const answer = await get(port, path);
          expect(answer.status).toBe(500);
          expect(JSON.parse(answer.body)["error"]).toBe("internal");
          expect(answer.body).not.toContain("hidden");
        }
      },
    ));
});

describe("Http with a base path", () => {
  test("removes the base path from URLs and adds it to links", () =>
    serve(
      echo("/"),
      async (port, service) => {
        expect((await get(port, "/agent/login?a=/agent/")).body).toContain("GET /login?a=/agent/");
        expect((await get(port, "/agent")).body).toContain("GET /");
        expect(service.url("/login")).toBe("/agent/login");
        expect(service.addresses()[0]!.href).toBe(`http://127.0.0.1:${port}/agent/`);
      },
      "/agent/",
    ));

  test("sends 404 in JSON for paths outside the base path", () =>
    serve(
      echo("/"),
      async (port) => {
        for (const path of ["/", "/login", "/doors", "/agent/../login"]) {
          const answer = await get(port, path);
          expect([path, answer.status, JSON.parse(answer.body)["error"]]).toEqual([
            path,
            404,
            "not_found",
          ]);
        }
      },
      "/agent",
    ));
});

describe("Http with ambiguous headers", () => {
  test.each([
    ["no Host", []],
    ["an empty Host", ["Host:"]],
    ["two Host lines", ["Host: localhost", "Host: localhost"]],
    ["a Host that is none", ["Host: a/b"]],
    [
      "two Authorization lines",
      ["Host: localhost", "Authorization: Bearer a", "authorization: Bearer b"],
    ],
  ])("%s: 400 with the safety headers", (_, lines) =>
    serve(echo("/"), async (port) => {
      const answer = await get(port, "/", lines);
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.body)["error"]).toBe("invalid_request");
      expect(answer.headers).toMatchObject({
        "x-frame-options": "DENY",
        "cache-control": "no-store",
      });
    }),
  );

  test("prefers the host of an absolute target to the header", () =>
    serve(
      (service) =>
        service.request("/", (request, response) => void response.end(service.peer(request).host)),
      async (port) => {
        expect((await get(port, "http://Other.example:81/")).body).toContain("other.example:81");
      },
    ));

  test("accepts requests without Host on routes with anyHost", () =>
    serve(
      (service) =>
        service.request("/healthz", (_, response) => void response.end("fine"), { anyHost: true }),
      async (port) => {
        expect((await raw(port, "GET /healthz HTTP/1.0\r\n\r\n")).body).toBe("fine");
      },
    ));

  test("passes all Authorization lines to routes with anyAuthorization", () => {
    const route = (service: Http): void =>
      service.request(
        "/own",
        ({ rawHeaders }, response) =>
          void response.end(`${rawHeaders.filter((name) => /^authorization$/i.test(name)).length}`),
        { anyAuthorization: true },
      );
    return serve(route, async (port) => {
      const lines = ["Host: localhost", "Authorization: Bearer a", "authorization: Bearer b"];
      expect((await get(port, "/own", lines)).body).toBe("2");
      expect((await get(port, "/own", lines.slice(1))).status).toBe(400);
    });
  });
});
