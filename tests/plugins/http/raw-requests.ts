// Helpers for tests that send raw bytes to a server.
import type { Socket } from "node:net";
import { expect } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { http, type Http } from "../../../plugins/http/index.ts";
import { portOf, safety, type RawAnswer } from "../../support/http-client.ts";

export function expectSafe(answer: RawAnswer): void {
  expect(answer.headers).toMatchObject(safety);
  expect(answer.headers["server"]).toBeUndefined();
  expect(answer.headers["x-powered-by"]).toBeUndefined();
}

export function expectRejection(answer: RawAnswer, status: number): void {
  expect(answer.status).toBe(status);
  expectSafe(answer);
  expect(answer.headers["cache-control"]).toBe("no-store");
  const body = { error: expect.stringMatching(/^[a-z_]+$/), message: expect.stringMatching(/\.$/) };
  expect(JSON.parse(answer.body)).toEqual(body);
}

export const withServer = (visit: (port: number, http: Http) => Promise<void>): Promise<void> =>
  withKernel([http({ port: 0 })], async ({ kernel: { services } }) => {
    services.http.request("/fine", (request, response) => {
      request
        .resume()
        .on("end", () =>
          response.end(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`),
        );
    });
    await visit(portOf(services.http), services.http);
  });

/** Reads from a socket until `isComplete` returns true. */
export function read(socket: Socket, isComplete: (text: string) => boolean): Promise<string> {
  return new Promise((done) => {
    let text = "";
    const onData = (piece: Buffer): void => {
      text += piece.toString("latin1");
      if (!isComplete(text)) return;
      socket.off("data", onData);
      done(text);
    };
    socket.on("data", onData);
  });
}
