// Tests routes on the HTTP server of a host.
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import { createKernel, type Plugin } from "../../../kernel/index.ts";
import { withKernel } from "../../../kernel/testing.ts";
import { gateway, http, type Http } from "../../../plugins/http/index.ts";
import { get, raw } from "../../support/http-client.ts";

async function hosted(
  setUp: { requests?: RequestListener; upgrades?: (socket: Duplex) => void },
  visit: (testServer: { server: Server; port: number; service: Http }) => Promise<void>,
  basePath = "",
): Promise<void> {
  const server = createServer(setUp.requests).listen(0, "127.0.0.1");
  if (setUp.upgrades) server.on("upgrade", (_, socket: Duplex) => setUp.upgrades!(socket));
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    await withKernel([http({ server, basePath }), gateway()], async ({ kernel: { services } }) => {
      services.http.request(
        "/api",
        (request, response) => void response.end(`doorward ${request.url}`),
      );
      services.http.upgrade(
        "/pico",
        (_, socket) => void socket.end("HTTP/1.1 101 Doorward\r\n\r\ndoorward"),
      );
      await visit({ server, port, service: services.http });
    });
    expect((await get(port, "/api")).body).not.toContain("doorward");
    expect(server.listening).toBe(true);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const site: RequestListener = (request, response) => void response.end(`theirs ${request.url}`);
const upgradeTo = (path: string, protocol = "websocket"): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: ${protocol}\r\n\r\n`;

/** Serves every path, as the dashboard does. */
const all: Plugin<{ needs: { http: Http } }> = {
  name: "all",
  api: 1,
  needs: { http: true },
  start: ({ needs }) =>
    needs.http.request("/", (request, response) => void response.end(`doorward ${request.url}`)),
};

type Door = ReturnType<typeof createKernel<[ReturnType<typeof http>]>>;

describe("attachToHostServer", () => {
  test("serves its routes and leaves other requests to the host", () =>
    hosted({ requests: site }, async ({ port }) => {
      const doorward = await get(port, "//api/./x");
      expect(doorward.body).toContain("doorward /api/x");
      expect(doorward.headers["referrer-policy"]).toBe("no-referrer");
      for (const path of ["/", "//their/../path", "/apis", "/%zz"]) {
        const theirs = await get(port, path);
        expect(theirs.body).toContain(`theirs ${path}`);
        expect(theirs.headers["referrer-policy"]).toBeUndefined();
      }
    }));

  test("hides its requests from listeners added later", () =>
    hosted({}, async ({ server, port }) => {
      server.on("request", site);
      expect((await get(port, "/api")).body).toContain("doorward");
      expect((await get(port, "/api")).body).not.toContain("theirs");
      expect((await get(port, "/x")).body).toContain("theirs /x");
    }));

  test("creates links with the address of the host and base path", () =>
    hosted(
      { requests: site },
      async ({ port, service }) => {
        expect(service.addresses().map(String)).toEqual([`http://127.0.0.1:${port}/agent/`]);
        expect((await get(port, service.url("/api"))).body).toContain("doorward /api");
        expect((await get(port, "/api")).body).toContain("theirs /api");
      },
      "/agent",
    ));

  test("checks headers of its own routes only", () =>
    hosted({ requests: site }, async ({ port }) => {
      const twice = ["Host: a", "Authorization: Bearer a", "Authorization: Bearer b"];
      expect((await get(port, "/api", twice)).status).toBe(400);
      expect((await get(port, "/x", twice)).body).toContain("theirs /x");
    }));

  test("serves upgrades if the host has no upgrade listener", () =>
    hosted({ requests: site }, async ({ port }) => {
      expect((await raw(port, upgradeTo("/pico"))).body).toBe("doorward");
      expect((await raw(port, upgradeTo("/other"))).body).toContain("theirs /other");
      expect((await raw(port, upgradeTo("/other", "h2c"))).body).toContain("theirs /other");
      expect((await raw(port, upgradeTo("/api", "h2c"))).body).toContain("doorward /api");
    }));

  test("leaves other upgrades to the upgrade listener of the host", () => {
    const upgrades = (socket: Duplex): void => void socket.end("HTTP/1.1 101 Theirs\r\n\r\ntheirs");
    return hosted({ requests: site, upgrades }, async ({ port }) => {
      expect((await raw(port, upgradeTo("/pico"))).body).toBe("doorward");
      expect((await raw(port, upgradeTo("/other"))).body).toBe("theirs");
      expect((await raw(port, upgradeTo("/other", "h2c"))).body).toBe("theirs");
      expect((await raw(port, upgradeTo("/api", "h2c"))).body).toContain("doorward /api");
    });
  });

  test("restores the server after stop", async () => {
    const server = createServer(site);
    const look = (): object => ({
      emit: server.emit,
      own: Object.hasOwn(server, "emit"),
      upgrades: server.listeners("upgrade"),
      requests: server.listeners("request"),
    });
    const before = look();
    const { emit } = server;
    const kernel = createKernel([http({ server })]);
    await kernel.start();
    expect(server.emit).not.toBe(emit);
    expect(server.listening).toBe(false);
    await kernel.stop();
    expect(look()).toEqual(before);
  });

  test("attaches two kernels that stop in any order", async () => {
    const server = createServer(site).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const [one, two] = ["/one", "/two"].map((basePath) =>
      createKernel([http({ server, basePath })]),
    ) as [Door, Door];
    for (const kernel of [one, two]) {
      await kernel.start();
      kernel.services.http.request(
        "/",
        (_, response) => void response.end(`doorward ${kernel.services.http.url("/")}`),
      );
    }
    expect((await get(port, "/one")).body).toContain("doorward /one/");
    expect((await get(port, "/two")).body).toContain("doorward /two/");
    await one.stop();
    expect((await get(port, "/one")).body).toContain("theirs /one");
    expect((await get(port, "/two")).body).toContain("doorward /two/");
    await two.stop();
    expect((await get(port, "/two")).body).toContain("theirs /two");
    server.close();
  });

  test.each([
    ["/door", "/door"],
    ["/door", "/door/inner"],
    ["/door/inner", "/door"],
  ])("rejects a second kernel at %s and %s", async (first, second) => {
    const server = createServer(site);
    const kernels = [first, second].map((basePath) =>
      createKernel([http({ server, basePath }), all]),
    );
    await kernels[0]!.start();
    await expect(kernels[1]!.start()).rejects.toMatchObject({ code: "HTTP_PATH_TAKEN" });
    await kernels[0]!.stop();
    await kernels[1]!.start();
    await kernels[1]!.stop();
  });

  test("rejects a route that another kernel serves", async () => {
    const server = createServer(site);
    const kernels = [1, 2].map(() => createKernel([http({ server })])) as [Door, Door];
    for (const kernel of kernels) await kernel.start();
    const [one, two] = kernels.map(({ services }) => services.http) as [Http, Http];
    one.request("/api", () => undefined);
    expect(() => two.request("/api/inner", () => undefined)).toThrow(
      /already serves "\/api\/inner"/,
    );
    expect(() => two.upgrade("/api", () => undefined)).toThrow(/already serves/);
    two.request("/other", () => undefined);
    for (const kernel of kernels) await kernel.stop();
  });

  test("rejects a route for every path without a base path", async () => {
    const kernel = createKernel([http({ server: createServer(site) }), all]);
    await expect(kernel.start()).rejects.toMatchObject({ code: "HTTP_HOST_PATH" });
  });

  test("serves one host name and leaves the others to the host", async () => {
    const server = createServer(site).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await withKernel([http({ server, hostName: "Door.Example.org" }), all], async ({ kernel }) => {
      expect(kernel.services.http.addresses().map(String)).toEqual([
        `http://door.example.org:${port}/`,
      ]);
      expect((await get(port, "/x", [`Host: door.example.org:${port}`])).body).toContain(
        "doorward /x",
      );
      expect((await get(port, "/x", ["Host: www.example.org"])).body).toContain("theirs /x");
    });
    server.close();
  });

  test.each(["", "https://a.example", "a b"])("rejects the host name %j", async (hostName) => {
    const kernel = createKernel([http({ server: createServer(site), hostName })]);
    await expect(kernel.start()).rejects.toMatchObject({ code: "HTTP_HOST_NAME" });
  });

  test("keeps connections of the host open after stop", async () => {
    const server = createServer(site).listen(0, "127.0.0.1");
    await once(server, "listening");
    const kernel = createKernel([http({ server })]);
    await kernel.start();
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    let text = "";
    socket.on("data", (piece) => void (text += String(piece)));
    socket.write("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    await expect.poll(() => text).toContain("theirs /a");
    await kernel.stop();
    socket.write("GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
    await expect.poll(() => text).toContain("theirs /b");
    socket.destroy();
    server.close();
  });
});

describe("http({ server })", () => {
  test.each<[string, unknown, RegExp]>([
    ["undefined", undefined, /got undefined: create the server first/],
    ["an Express app", (_: unknown, r: { end(): void }) => r.end(), /pass createServer\(app\)/],
    ["a Fastify app", { server: createServer(), listen: () => undefined }, /pass app\.server/],
    ["a port", 8080, /a value that isn't a server/],
  ])("rejects %s with the fix", async (_, server, sentence) => {
    const error = await createKernel([http({ server: server as Server })])
      .start()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "HTTP_SERVER" });
    expect((error as Error).message).toMatch(sentence);
  });

  test("rejects a port that it would ignore", async () => {
    const kernel = createKernel([http({ server: createServer(), port: 8080 })]);
    await expect(kernel.start()).rejects.toMatchObject({
      code: "HTTP_SERVER",
      message: expect.stringContaining("also a port, which it would ignore: leave it out"),
    });
  });
});
