import { describe, expect, test } from "vitest";
import { createKernel, type Plugin } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { dashboard } from "../../../plugins/dashboard/index.ts";
import { http, type Http } from "../../../plugins/http/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";
import { get, type RawAnswer } from "../../support/http-client.ts";
import { TOKEN, block, setupBackend, startDashboard } from "../../support/dashboard-server.ts";

describe("/healthz and /readyz", () => {
  test("answer ok without authentication or version", async () => {
    await using server = await startDashboard({ dashboard: { version: "1.2.3" } });
    await using fresh = await startDashboard({ form: setupBackend() });
    for (const board of [server, fresh]) {
      for (const path of ["/healthz", "/readyz"]) {
        const answer = await board.get(path);
        expect(answer.status).toBe(200);
        expect(await answer.text()).toBe('{"status":"ok"}');
        expect(answer.headers.getSetCookie()).toEqual([]);
        expect((await board.request(path, { method: "HEAD" })).status).toBe(200);
      }
    }
  });

  test("answer during a block and compare no token", async () => {
    await using server = await startDashboard();
    await block(server);
    expect((await server.get("/healthz", { authorization: "Bearer x" })).status).toBe(200);
    expect((await server.get("/readyz?token=x")).status).toBe(200);
  });

  test("report 503 before the start has finished and during a stop", async () => {
    const seen: Record<string, RawAnswer> = {};
    const watcher: Plugin<{ needs: { http: Http } }> = {
      name: "watcher",
      api: 1,
      needs: { http: true },
      start({ needs, onReady }) {
        const look = async (moment: string): Promise<void> => {
          const port = Number(needs.http.addresses()[0]!.port);
          for (const path of ["/healthz", "/readyz"])
            seen[`${moment} ${path}`] = await get(port, path);
        };
        onReady(async () => {
          await look("starting");
          return () => look("stopping");
        });
      },
    };
    const list = [
      tokenStore(memory({ launcher: TOKEN })),
      http({ port: 0 }),
      watcher,
      dashboard(),
    ] as const;
    const kernel = createKernel(list, { log: createCapturedLog().log });
    await kernel.start();
    expect((await get(Number(kernel.services.http.addresses()[0]!.port), "/readyz")).status).toBe(
      200,
    );
    await kernel.stop();
    for (const moment of ["starting", "stopping"]) {
      expect(seen[`${moment} /healthz`]!.status).toBe(200);
      const { status, headers, body } = seen[`${moment} /readyz`]!;
      expect([moment, status, headers["retry-after"]]).toEqual([moment, 503, "1"]);
      expect(JSON.parse(body)).toMatchObject({ error: "unavailable" });
    }
  });
});

test("/readyz during a stop: answers 503 while connections are open", async () => {
  let release = (): void => undefined;
  const slow = {
    name: "slow",
    api: 1 as const,
    start: ({ onReady }: { onReady(step: () => () => Promise<void>): void }) =>
      onReady(() => () => new Promise<void>((done) => void (release = done))),
  };
  const server = await startDashboard({ plugins: [slow] });
  expect((await server.get("/readyz")).status).toBe(200);
  const stopped = server.kernel.stop();
  const answer = await server.get("/readyz");
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await answer.json()).toMatchObject({ error: "unavailable", state: "stopping" });
  expect((await server.get("/healthz")).status).toBe(200);
  release();
  await stopped;
});
