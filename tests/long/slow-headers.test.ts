import { expect, test } from "vitest";
import { withKernel } from "../../kernel/testing.ts";
import { http } from "../../plugins/http/index.ts";
import { portOf, raw, safety } from "../support/http-client.ts";

test("answers 408 after ten seconds without the end of the headers", () =>
  withKernel([http({ port: 0 })], async ({ kernel: { services } }) => {
    const start = performance.now();
    const answer = await raw(portOf(services.http), "GET / HTTP/1.1\r\nHost: a\r\n");
    const tookMs = performance.now() - start;
    expect(answer.status).toBe(408);
    expect(answer.headers).toMatchObject(safety);
    expect(JSON.parse(answer.body)).toEqual({
      error: expect.any(String),
      message: expect.any(String),
    });
    expect(tookMs).toBeGreaterThan(9_000);
    expect(tookMs).toBeLessThan(20_000);
  }));
