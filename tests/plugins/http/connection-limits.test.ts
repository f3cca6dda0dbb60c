// Tests the limits on unauthenticated connections.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { ConnectionLimits } from "../../../plugins/http/connection-limits.ts";
import { http, type Http } from "../../../plugins/http/index.ts";
import { createServer } from "node:http";
import { selfSigned } from "./certificate.ts";
import { portOf } from "../../support/http-client.ts";

const folder = mkdtempSync(join(tmpdir(), "limits-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A server-side socket with the properties that the limits read. */
function fakeSocket(remoteAddress: string) {
  let isDestroyed = false;
  const closed: (() => void)[] = [];
  return {
    remoteAddress,
    get destroyed() {
      return isDestroyed;
    },
    destroy() {
      isDestroyed = true;
    },
    on: (_: string, run: () => void) => void closed.push(run),
    close() {
      for (const run of closed) run.call(this);
    },
  };
}

function setUp(total: number, perAddress: number, trusted: readonly string[] = []) {
  const server = createServer();
  const rejected: string[] = [];
  const limits = new ConnectionLimits({
    limits: () => ({ total, perAddress }),
    isTrusted: (address) => trusted.includes(address),
    rejected: (address, limit) => void rejected.push(`${address} ${limit}`),
  });
  server.removeAllListeners("connection");
  limits.watch(server);
  const open = (address: string) => {
    const socket = fakeSocket(address);
    server.emit("connection", socket as never);
    return socket;
  };
  const openAll = (address: string, count: number) =>
    Array.from({ length: count }, () => open(address)).filter(({ destroyed }) => !destroyed).length;
  const authenticate = (socket: object) => limits.markAuthenticated({ socket } as never);
  return { limits, rejected, open, openAll, authenticate };
}

describe("ConnectionLimits", () => {
  test("closes connections beyond the limit of an address", () => {
    const { rejected, openAll } = setUp(100, 3);
    expect(openAll("192.0.2.1", 5)).toBe(3);
    expect(openAll("192.0.2.2", 5)).toBe(3);
    expect(rejected).toEqual(
      Array(2).fill("192.0.2.1 address").concat(Array(2).fill("192.0.2.2 address")),
    );
  });

  test("counts an IPv6 /64 as one address", () => {
    const { openAll } = setUp(100, 3);
    expect(openAll("2001:db8::1", 2) + openAll("2001:db8::2", 2)).toBe(3);
  });

  test("closes connections beyond the total, whatever their address", () => {
    const { rejected, openAll } = setUp(10, 0, ["192.0.2.1"]);
    expect(openAll("192.0.2.1", 8) + openAll("127.0.0.1", 8)).toBe(10);
    expect(rejected[0]).toBe("127.0.0.1 total");
  });

  test("exempts trusted proxies and loopback from the limit per address", () => {
    const { openAll } = setUp(100, 3, ["192.0.2.1"]);
    expect([openAll("192.0.2.1", 20), openAll("127.0.0.1", 20), openAll("::1", 20)]).toEqual([
      20, 20, 20,
    ]);
  });

  test("counts a connection until it authenticates or closes", () => {
    const { limits, open, openAll, authenticate } = setUp(100, 2);
    const [first, second] = [open("192.0.2.1"), open("192.0.2.1")];
    authenticate(first);
    authenticate(first);
    first.close();
    expect(limits.count()).toBe(1);
    second.close();
    expect([limits.count(), openAll("192.0.2.1", 5)]).toEqual([0, 2]);
  });

  test("accepts any number when both limits are 0", () => {
    expect(setUp(0, 0).openAll("192.0.2.1", 10_000)).toBe(10_000);
  });
});

describe.each(["http", "https"])("the limit on unauthenticated connections over %s", (scheme) => {
  const isTls = scheme === "https";
  const { cert, key } = selfSigned();
  const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  writeFileSync(tls.cert, cert);
  writeFileSync(tls.key, key);

  const dial = (port: number): Socket => {
    const options = { port, host: "127.0.0.1", rejectUnauthorized: false };
    return (isTls ? connectTls(options) : connect(options)).on("error", () => undefined);
  };
  const withLimit = (visit: (port: number, service: Http) => Promise<void>): Promise<void> =>
    withKernel(
      [http({ port: 0 })],
      ({ kernel: { services } }) => visit(portOf(services.http), services.http),
      {
        config: { launcher: { max_unauthenticated_connections: 2, ...(isTls && { tls }) } },
      },
    );
  const ask = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

  test("closes the next connection beyond the limit", () =>
    withLimit(async (port, service) => {
      service.request("/", (_, response) => void response.end("fine"));
      const sockets = [dial(port), dial(port)];
      for (const socket of sockets) {
        socket.write(ask);
        await once(socket, "data");
      }
      const third = dial(port);
      third.write(ask);
      await new Promise((done) => third.resume().once("close", done));
      expect(third.bytesRead).toBe(0);
      expect(service.clientFaults()).toEqual({ too_many_connections: 1 });
      for (const socket of sockets) socket.destroy();
    }));

  test("ignores connections that have authenticated", () =>
    withLimit(async (port, service) => {
      service.request("/", (request, response) => {
        service.markAuthenticated(request);
        response.end("fine");
      });
      const sockets: Socket[] = [];
      for (let n = 0; n < 6; n += 1) {
        const socket = dial(port);
        sockets.push(socket);
        socket.write(ask);
        await once(socket, "data");
      }
      expect(service.clientFaults()).toEqual({});
      for (const socket of sockets) socket.destroy();
    }));
});
