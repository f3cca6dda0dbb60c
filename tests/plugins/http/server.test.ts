// Tests listeners, settings, TLS, gateway and stop.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { connect as connectTls } from "node:tls";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createKernel, type Plugin } from "../../../kernel/index.ts";
import { withKernel } from "../../../kernel/testing.ts";
import { gateway, http, type Http } from "../../../plugins/http/index.ts";
import { serverUrls } from "../../../plugins/http/addresses.ts";
import { freePort } from "../../e2e/free-port.ts";
import { selfSigned } from "./certificate.ts";
import { get, portOf, raw } from "../../support/http-client.ts";

const folder = mkdtempSync(join(tmpdir(), "http-"));
afterAll(() => rmSync(folder, { recursive: true }));

const code = (expected: string, text: string): object => ({
  code: expected,
  message: expect.stringContaining(text),
});
const refused = (port: number): Promise<unknown> =>
  expect(get(port, "/")).rejects.toMatchObject({ code: "ECONNREFUSED" });

describe("http listener", () => {
  test("opens on 127.0.0.1 when all plugins have started", async () => {
    const port = await freePort();
    const late: Plugin = { name: "late", api: 1, start: () => refused(port) as Promise<void> };
    const kernel = createKernel([http(), late], {
      config: { launcher: { port, base_path: "/agent" } },
    });
    const events: unknown[] = [];
    kernel.on("http:listening", (event) => void events.push(event));
    await kernel.start();
    expect(events).toEqual([{ url: `http://127.0.0.1:${port}/agent/` }]);
    const service = kernel.services.http;
    expect(service.addresses().map(String)).toEqual([`http://127.0.0.1:${port}/agent/`]);
    await kernel.stop();
    await refused(port);
    expect(service.addresses()).toEqual([]);
  });

  test("reports a port in use by a launcher", async () => {
    await withKernel([http({ port: 0 })], async ({ kernel: { services } }) => {
      services.http.request("/healthz", (_, response) => void response.end('{"status":"ok"}'));
      const port = portOf(services.http);
      const second = createKernel([http({ port }), gateway()]);
      const message =
        `port ${port} is in use (by a launcher that is already running); ` +
        "pass another one to http({ port })";
      await expect(second.start()).rejects.toMatchObject({
        code: "HTTP_PORT_IN_USE",
        message,
      });
      const other = createKernel([http({ port: 0 }), gateway()], { config: { gateway: { port } } });
      await expect(other.start()).rejects.toMatchObject(code("HTTP_PORT_IN_USE", "gateway.port"));
    });
  });

  test("reports a port in use by an unknown program", async () => {
    const silent = createServer((socket) => void socket.resume().on("error", () => {})).listen(
      0,
      "127.0.0.1",
    );
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const kernel = createKernel([http({ port })]);
    await expect(kernel.start()).rejects.toMatchObject({
      message: `port ${port} is in use; pass another one to http({ port })`,
    });
    silent.close();
  });

  test("reports an address of another machine", async () => {
    const kernel = createKernel([http({ port: 0, host: "203.0.113.213" })]);
    await expect(kernel.start()).rejects.toMatchObject(
      code("HTTP_ADDRESS_UNAVAILABLE", "203.0.113.213"),
    );
  });

  test("listens on all interfaces with public, localhost first", () =>
    withKernel(
      [http({ port: 0 })],
      async ({ kernel: { services } }) => {
        const [first] = services.http.addresses();
        expect(first!.hostname).toBe("localhost");
        expect((await get(Number(first!.port), "/")).status).toBe(404);
      },
      { config: { launcher: { public: true } } },
    ));

  test.each([
    ["an option", http({ port: 0, host: "[::1]" }), {}],
    ["a setting", http({ port: 0 }), { launcher: { host: "[::1]" } }],
  ])("listens on an IPv6 address in brackets of %s", (_, plugin, config) =>
    withKernel(
      [plugin],
      ({ kernel: { services } }) => {
        expect(services.http.addresses().map(({ hostname }) => hostname)).toEqual(["[::1]"]);
      },
      { config },
    ),
  );

  test("removes the zone of an IPv6 address from URLs", () => {
    const address = { address: "fe80::1%eth0", family: "IPv6", port: 18_800 };
    const server = Object.assign(createHttpServer(), { address: () => address });
    expect(serverUrls(server, "/agent", "fe80::1%eth0").map(String)).toEqual([
      "http://[fe80::1]:18800/agent/",
    ]);
  });

  test("prefers options to settings", () =>
    withKernel(
      [http({ port: 0, basePath: "/b" })],
      ({ kernel: { services } }) => {
        expect(portOf(services.http)).not.toBe(1);
        expect(services.http.url("/x")).toBe("/b/x");
      },
      { config: { launcher: { port: 1, base_path: "/a" } } },
    ));
});

describe("http settings", () => {
  test.each([
    ["port", 65_536],
    ["port", "80"],
    ["tls", { cert: "a" }],
    ["base_path", "/a b"],
    ["base_path", "/../a"],
    ["base_path", "//"],
    ["base_path", "/a//b"],
    ["trusted_proxies", ["10.0.0.0/33"]],
    ["trusted_proxies", ["proxy.example"]],
    ["trusted_proxies", "10.0.0.1"],
  ])("rejects %s: %j and names the setting", async (key, value) => {
    const kernel = createKernel([http()], { config: { launcher: { [key]: value } } });
    await expect(kernel.start()).rejects.toMatchObject(
      code("KERNEL_BAD_CONFIG", `launcher.${key}`),
    );
  });

  test.each([
    ["", "/x"],
    ["/", "/x"],
    ["agent", "/agent/x"],
    ["/agent/", "/agent/x"],
    ["/a/.b", "/a/.b/x"],
  ])("turns base_path %j into the link %s", (given, link) =>
    withKernel(
      [http({ port: 0 })],
      ({ kernel: { services } }) => {
        expect(services.http.url("/x")).toBe(link);
      },
      { config: { launcher: { base_path: given } } },
    ),
  );

  test("rejects an invalid base path in the options", async () => {
    await expect(createKernel([http({ basePath: "/a?b" })]).start()).rejects.toMatchObject({
      code: "HTTP_BASE_PATH",
    });
  });
});

describe("http with TLS", () => {
  test("serves HTTPS requests, h2c upgrades and errors", async () => {
    const { cert, key } = selfSigned();
    const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
    writeFileSync(tls.cert, cert);
    writeFileSync(tls.key, key);
    await withKernel(
      [http({ port: 0 })],
      async ({ kernel: { services } }) => {
        services.http.request(
          "/",
          (request, response) => void response.end(`secure ${services.http.peer(request).secure}`),
        );
        expect(services.http.addresses()[0]!.protocol).toBe("https:");
        const port = portOf(services.http);
        const start = "GET / HTTP/1.1\r\nHost: a\r\n";
        const h2c = `${start}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`;
        expect((await raw(port, h2c, true)).body).toBe("secure true");
        const refusal = await raw(port, "nonsense\r\n\r\n", true);
        expect([refusal.status, refusal.headers["referrer-policy"]]).toEqual([400, "no-referrer"]);
      },
      { config: { launcher: { tls } } },
    );
  });

  test("accepts only TLS 1.2 suites with forward secrecy", async () => {
    const { cert, key } = selfSigned("rsa");
    const tls = { cert: join(folder, "pfs.pem"), key: join(folder, "pfs-key.pem") };
    writeFileSync(tls.cert, cert);
    writeFileSync(tls.key, key);
    const config = { config: { launcher: { tls } } };
    const negotiate = (port: number, ciphers: string): Promise<string> =>
      new Promise((done) => {
        const options = { port, host: "127.0.0.1", rejectUnauthorized: false, ciphers };
        const socket = connectTls({ ...options, maxVersion: "TLSv1.2" }, () => {
          done(socket.getCipher().name);
          socket.destroy();
        });
        socket.once("error", () => done("none"));
      });
    const suites = ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA256", "AES256-SHA"];
    await withKernel(
      [http({ port: 0 })],
      async ({ kernel: { services } }) => {
        const port = portOf(services.http);
        for (const suite of suites) expect(await negotiate(port, suite)).toBe("none");
        const forward = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256";
        expect(await negotiate(port, forward)).toMatch(/^ECDHE-/);
      },
      config,
    );
  });

  test("names a missing file, a pipe and an invalid certificate", async () => {
    const bad = join(folder, "bad.pem");
    writeFileSync(bad, "nothing");
    const pipe = join(folder, "pipe.pem");
    execFileSync("mkfifo", [pipe]);
    for (const cert of [join(folder, "missing.pem"), pipe, bad]) {
      const kernel = createKernel([http({ port: 0 })], {
        config: { launcher: { tls: { cert, key: bad } } },
      });
      await expect(kernel.start()).rejects.toMatchObject(code("HTTP_TLS_UNREADABLE", cert));
    }
  });
});

describe("gateway", () => {
  const fine = "HTTP/1.1 101 Fine\r\n\r\n";
  const routes = (service: Http): void => {
    for (const listener of ["dashboard", "gateway"] as const) {
      service.request(
        `/${listener}`,
        (request, response) => void response.end(`by ${service.listener(request)}`),
        {
          listener,
        },
      );
      service.upgrade("/pico", (_, socket) => void socket.end(`${fine}for ${listener}`), {
        listener,
      });
    }
    service.upgrade("/only", (_, socket) => void socket.end(`${fine}only`), {
      listener: "gateway",
    });
  };
  const upgrade = async (port: number, path: string): Promise<string> => {
    const lines = [
      `GET ${path} HTTP/1.1`,
      "Host: a",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "",
      "",
    ];
    const { body, status } = await raw(port, lines.join("\r\n"));
    return status === 101 ? body : `${status}`;
  };

  test("serves its routes on the dashboard listener without a port", () =>
    withKernel([http({ port: 0 }), gateway()], async ({ kernel: { services } }) => {
      routes(services.http);
      const port = portOf(services.http);
      expect((await get(port, "/gateway")).body).toContain("by dashboard");
      expect(await upgrade(port, "/pico")).toBe("for dashboard");
      expect(await upgrade(port, "/only")).toBe("only");
      expect(services.http.addresses("gateway")).toEqual(services.http.addresses());
    }));

  test("separates the routes of both listeners with a port", () =>
    withKernel(
      [http({ port: 0 }), gateway()],
      async ({ kernel: { services } }) => {
        routes(services.http);
        const main = portOf(services.http);
        const own = Number(services.http.addresses("gateway")[0]!.port);
        expect((await get(own, "/gateway")).body).toContain("by gateway");
        expect((await get(main, "/dashboard")).body).toContain("by dashboard");
        expect((await get(main, "/gateway")).status).toBe(404);
        expect((await get(own, "/dashboard")).status).toBe(404);
        expect([await upgrade(main, "/pico"), await upgrade(own, "/pico")]).toEqual([
          "for dashboard",
          "for gateway",
        ]);
        expect([await upgrade(main, "/only"), await upgrade(own, "/only")]).toEqual([
          "404",
          "only",
        ]);
      },
      { config: { gateway: { port: 0 } } },
    ));
});
