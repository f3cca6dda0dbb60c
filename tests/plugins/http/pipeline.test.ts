// Tests pipelined requests and unread responses.
/* Requests that a client sends without waiting for responses. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import type { Router } from "../../../plugins/http/router.ts";
import { http, type ClientFault, type Http } from "../../../plugins/http/index.ts";
import { listen } from "../../../plugins/http/listeners.ts";
import { createHttpServer } from "../../../plugins/http/server.ts";
import { maxOutstanding, maxStartsPerTurn } from "../../../plugins/http/connection-limits.ts";
import { get, portOf, raw } from "../../support/http-client.ts";

const withServer = (visit: (port: number, service: Http) => Promise<void>): Promise<void> =>
  withKernel([http({ port: 0 })], ({ kernel: { services } }) =>
    visit(portOf(services.http), services.http),
  );

const ask = (path: string, ...lines: string[]): string =>
  [`GET ${path} HTTP/1.1`, "Host: a", ...lines, "", ""].join("\r\n");

/** Counts the requests for /held that Node has parsed. */
function countParsed(): { count(): number } & Disposable {
  let count = 0;
  const seen = (message: unknown): void => {
    if ((message as { request: IncomingMessage }).request.url === "/held") count += 1;
  };
  subscribe("http.server.request.start", seen);
  return {
    count: () => count,
    [Symbol.dispose]: () => void unsubscribe("http.server.request.start", seen),
  };
}

/** Reads until `bytes` have arrived, or the connection has closed. */
function collect(socket: Socket, bytes: number): Promise<string> {
  return new Promise((done) => {
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (text.length >= bytes) done(text);
    });
    socket.once("close", () => done(text));
  });
}

describe("limitPipelining", () => {
  test("parses at most 32 requests ahead and serves all", () =>
    withServer(async (port, service) => {
      const total = 5_000;
      const held: ServerResponse[] = [];
      let isOpen = false;
      let served = 0;
      service.request("/held", (_, response) => {
        served += 1;
        if (isOpen) response.end("fine");
        else held.push(response);
      });
      service.request("/other", (_, response) => void response.end());
      using parsed = countParsed();
      const socket = connect(port, "127.0.0.1");
      let answers = 0;
      const all = new Promise<void>((done) => {
        socket.on("data", (chunk: Buffer) => {
          answers += chunk.toString("latin1").split("HTTP/1.1 200").length - 1;
          if (answers >= total) done();
        });
      });
      socket.write(ask("/held").repeat(total));
      await expect.poll(() => held.length).toBe(1);
      for (let round = 0; round < 5; round += 1) await get(port, "/other");
      expect([parsed.count(), served]).toEqual([maxOutstanding, 1]);
      isOpen = true;
      held[0]!.end("fine");
      await all;
      expect([answers, served]).toEqual([total, total]);
      socket.destroy();
    }));

  test("starts at most eight queued requests per turn", () =>
    withServer(async (port, service) => {
      const connections = 40;
      let turn = 0;
      const starts = new Map<number, number>();
      const first: ServerResponse[] = [];
      service.request("/first", (_, response) => void first.push(response));
      service.request("/second", (_, response) => {
        starts.set(turn, (starts.get(turn) ?? 0) + 1);
        response.end("fine");
      });
      const sockets = Array.from({ length: connections }, () => connect(port, "127.0.0.1"));
      for (const socket of sockets) socket.write(ask("/first") + ask("/second"));
      await expect.poll(() => first.length).toBe(connections);
      let ticking = true;
      const tick = (): void => {
        turn += 1;
        if (ticking) setImmediate(tick);
      };
      tick();
      for (const response of first) response.end("fine");
      const total = (): number => [...starts.values()].reduce((sum, count) => sum + count, 0);
      await expect.poll(total).toBe(connections);
      ticking = false;
      const counts = [...starts.values()];
      expect(Math.max(...counts)).toBeLessThanOrEqual(maxStartsPerTurn);
      for (const socket of sockets) socket.destroy();
    }));

  test("bounds requests with an unsupported expectation", () =>
    withServer(async (port, service) => {
      service.request("/held", () => undefined);
      service.request("/other", (_, response) => void response.end());
      using parsed = countParsed();
      const socket = connect(port, "127.0.0.1");
      socket.write(ask("/held") + ask("/held", "Expect: much").repeat(1_000));
      await expect.poll(() => parsed.count()).toBe(maxOutstanding);
      for (let round = 0; round < 5; round += 1) await get(port, "/other");
      expect(parsed.count()).toBe(maxOutstanding);
      socket.destroy();
    }));

  test("serves requests in order for any split of the bytes", async () => {
    const bodies = fc.array(fc.constantFrom("", "x", "\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"), {
      maxLength: 40,
    });
    const requests = fc.array(
      bodies.map((parts) => parts.join("")),
      {
        minLength: 1,
        maxLength: 100,
      },
    );
    await withServer(async (port, service) => {
      service.request("/echo", (request, response) => {
        let text = "";
        request.setEncoding("latin1").on("data", (chunk: string) => void (text += chunk));
        request.on("end", () => response.end(`<${request.url}:${text}>`));
      });
      await fc.assert(
        fc.asyncProperty(requests, fc.array(fc.nat(), { maxLength: 4 }), async (texts, cuts) => {
          const all = texts
            .map((text, at) => {
              const head = `POST /echo?${at} HTTP/1.1\r\nHost: a\r\n`;
              return `${head}Content-Length: ${text.length}\r\n\r\n${text}`;
            })
            .join("");
          const socket = connect(port, "127.0.0.1");
          await once(socket, "connect");
          const last = ask("/echo?last", "Connection: close");
          const answer = collect(socket, Number.POSITIVE_INFINITY);
          const places = cuts.map((cut) => cut % (all.length + 1)).sort((a, b) => a - b);
          let from = 0;
          for (const to of [...places, all.length]) {
            socket.write(all.slice(from, to), "latin1");
            from = to;
          }
          socket.write(last);
          const expected = texts.map((text, at) => `</echo?${at}:${text}>`);
          const text = await answer;
          const got = text.split(/HTTP\/1\.1 200 OK\r\n/).slice(1);
          const payloads = got.map((each) => each.slice(each.indexOf("\r\n\r\n") + 4));
          expect(payloads).toEqual([...expected, "</echo?last:>"]);
        }),
        { numRuns: 40 },
      );
    });
  });

  test("skips queued requests of a closed connection", () =>
    withServer(async (port, service) => {
      const begun: ServerResponse[] = [];
      service.request("/held", (_, response) => void begun.push(response));
      const socket = connect(port, "127.0.0.1");
      socket.write(ask("/held").repeat(100));
      await expect.poll(() => begun.length).toBe(1);
      const closed = once(begun[0]!, "close");
      socket.destroy();
      await closed;
      expect((await get(port, "/nowhere")).status).toBe(404);
      expect(begun).toHaveLength(1);
    }));

  test("passes bytes after a WebSocket handshake to its route", () =>
    withServer(async (port, service) => {
      const behind = "\r\n\r\n0123456789".repeat(1_000);
      service.upgrade("/pico", (_, socket, head) => {
        let text = head.toString("latin1");
        const look = (): void => {
          if (text.length >= behind.length) socket.end(`HTTP/1.1 101 Fine\r\n\r\n${text}`);
        };
        socket.on("data", (chunk: Buffer) => {
          text += chunk.toString("latin1");
          look();
        });
        look();
      });
      const handshake = ask("/pico", "Connection: Upgrade", "Upgrade: websocket");
      expect((await raw(port, handshake + behind)).body).toBe(behind);
    }));
});

describe("limitPipelining with upgrades to h2c", () => {
  const h2c = (path: string): string =>
    ask(path, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk");

  test("serves the upgrade once and closes the connection", () =>
    withServer(async (port, service) => {
      let served = 0;
      service.request("/held", (_, response) => {
        served += 1;
        setImmediate(() => response.end("once"));
      });
      using parsed = countParsed();
      const answer = await raw(port, h2c("/held").repeat(2_000));
      expect([answer.status, answer.headers["connection"], answer.body]).toEqual([
        200,
        "close",
        "once",
      ]);
      expect([served, parsed.count()]).toEqual([1, 1]);
    }));

  test("closes the connection if an earlier request is pending", () =>
    withServer(async (port, service) => {
      service.request("/held", () => undefined);
      const socket = connect(port, "127.0.0.1").on("error", () => undefined);
      socket.write(ask("/held") + h2c("/held").repeat(1_000));
      await new Promise((done) => socket.resume().once("close", done));
      expect((await get(port, "/nowhere")).status).toBe(404);
    }));
});

describe("createHttpServer", () => {
  type Handle = (response: ServerResponse) => void;

  async function withOwnServer(
    handle: Handle,
    visit: (port: number, notes: ClientFault[]) => Promise<void>,
  ): Promise<void> {
    const notes: ClientFault[] = [];
    const request: Router["request"] = (_listener, _request, response) => {
      handle(response);
      return true;
    };
    const server = createHttpServer("dashboard", { request } as Router, {
      note: (fault) => void notes.push(fault),
      unreadMs: 100,
    });
    const { port } = await listen(server, { port: 0, host: "127.0.0.1", remedy: "" });
    try {
      await visit(port, notes);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  }

  test("disconnects a client that does not read its response", () =>
    withOwnServer(
      (response) => void response.end(Buffer.alloc(30_000_000)),
      async (port, notes) => {
        const socket = connect(port, "127.0.0.1").on("error", () => undefined);
        socket.pause().write(ask("/"));
        await expect.poll(() => notes.map(({ reason }) => reason)).toEqual(["response_unread"]);
        socket.destroy();
      },
    ));

  test("waits for a handler slower than the timeout", () =>
    withOwnServer(
      (response) => void setTimeout(() => response.end("late"), 500),
      async (port, notes) => {
        expect((await raw(port, ask("/", "Connection: close"))).body).toBe("late");
        expect(notes).toEqual([]);
      },
    ));

  test("closes an idle connection", () =>
    withOwnServer(
      (response) => void response.end("fine"),
      async (port, notes) => {
        const socket = connect(port, "127.0.0.1");
        await new Promise((done) => socket.resume().once("close", done));
        expect(notes).toEqual([]);
      },
    ));
});
