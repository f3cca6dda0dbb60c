// Tests the security headers of responses of handlers.
import { once } from "node:events";
import { get, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { http } from "../../../plugins/http/index.ts";
import { portOf } from "../../support/http-client.ts";

const valuesOf = ({ rawHeaders }: IncomingMessage, name: string): string[] =>
  rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === name);

describe("responses of handlers", () => {
  test.each<[string, (response: ServerResponse) => unknown, string, string]>([
    ["an implicit head", (response) => response, "no-referrer", "200 OK"],
    ["setHeader", (response) => response.setHeader("X-Own", "1"), "no-referrer", "200 OK"],
    [
      "writeHead",
      (response) => response.writeHead(201, { "X-Own": "1" }),
      "no-referrer",
      "201 Created",
    ],
    [
      "a reason",
      (response) => response.writeHead(202, "Fine", { "X-Own": "1" }),
      "no-referrer",
      "202 Fine",
    ],
    [
      "a list",
      (response) => response.writeHead(203, ["X-Own", "1"]),
      "no-referrer",
      "203 Non-Authoritative Information",
    ],
    [
      "setHeader with another value",
      (response) => response.setHeader("referrer-policy", "origin"),
      "origin",
      "200 OK",
    ],
    [
      "writeHead with another value",
      (response) => response.writeHead(204, { "referrer-policy": "origin" }),
      "origin",
      "204 No Content",
    ],
    [
      "a list with another value",
      (response) => response.writeHead(205, ["X-Own", "1", "REFERRER-POLICY", "origin"]),
      "origin",
      "205 Reset Content",
    ],
  ])("has each security header once with %s", async (_, write, referrer, status) => {
    await withKernel([http({ port: 0 })], async ({ kernel: { services } }) => {
      services.http.request("/", (_request, response) => {
        write(response);
        response.end();
      });
      const asked = get({ port: portOf(services.http), agent: false });
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      await once(response.resume(), "end");
      expect(`${response.statusCode} ${response.statusMessage}`).toBe(status);
      expect(valuesOf(response, "referrer-policy")).toEqual([referrer]);
      expect(valuesOf(response, "x-frame-options")).toEqual(["DENY"]);
    });
  });
});
