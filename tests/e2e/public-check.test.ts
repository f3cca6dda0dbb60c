// Tests `doorward doctor -public` without a proxy, and with URLs that lead elsewhere.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect, createServer as createRelay, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { certificateChain } from "../plugins/http/certificate.ts";
import { freePort } from "./free-port.ts";
import { startLauncher, type RunningLauncher } from "./launcher.ts";
import { runCommand } from "./run-command.ts";

interface Check {
  readonly id: string;
  readonly result: string;
  readonly reason: string;
  readonly fix?: string;
}

let launcher: RunningLauncher;
let other: RunningLauncher;
beforeAll(async () => {
  const env = { SERVICE_MEDIA_MAX_FILE_MB: "9", SERVICE_GATEWAY_PUBLIC_URL: "http://127.0.0.1:1" };
  [launcher, other] = await Promise.all([startLauncher({ env }), startLauncher()]);
});
afterAll(async () => {
  await launcher?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
});

async function check(...words: string[]) {
  const { code, stdout } = await runCommand(launcher.home, [
    "doctor",
    "-public",
    ...words,
    "-json",
  ]);
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  return { code, checks, of: (id: string) => checks.find((one) => one.id === id) };
}

async function served(listener: RequestListener, use: (url: string) => Promise<void>) {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Frames of HTTP/2: empty SETTINGS, then GOAWAY without an error (RFC 9113 sections 6.5 and 6.8). */
const settingsAndGoAway = Buffer.from(
  "0000000400000000000000080700000000000000000000000000",
  "hex",
);

interface Relaying {
  readonly request?: (bytes: Buffer, client: Socket) => void;
  readonly response?: (bytes: Buffer, client: Socket) => void;
}

/** Passes bytes between the check and the launcher. */
async function relayed(
  { request, response }: Relaying,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const open = new Set<Socket>();
  const relay = createRelay((client) => {
    const upstream = connect(Number(launcher.base.port), "127.0.0.1");
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on("error", () => to.destroy()).once("close", () => to.destroy());
    }
    client.on("data", (bytes) => {
      request?.(bytes, client);
      if (!upstream.write(bytes)) client.pause();
    });
    upstream.on("drain", () => client.resume());
    upstream.on("data", (bytes) => (response ? response(bytes, client) : client.write(bytes)));
  });
  await once(relay.listen(0, "127.0.0.1"), "listening");
  try {
    await use(`http://127.0.0.1:${(relay.address() as AddressInfo).port}`);
  } finally {
    for (const socket of open) socket.destroy();
    relay.close();
  }
}

describe("doorward doctor -public", () => {
  test("finds nothing on a launcher without a proxy", async () => {
    const { code, checks, of } = await check(launcher.base.href, "-silence", "1");
    expect([code, checks.filter(({ result }) => result !== "ok")]).toEqual([0, []]);
    expect(of("public-body")?.reason).toBe("A body of 9 MiB arrived.");
    expect(of("public-stream-silence")?.reason).toBe("It was silent for 1 s.");
  });

  test("leaves out the silence with -quick", async () => {
    const { code, of } = await check(launcher.base.href, "-quick");
    expect([code, of("public-websocket")?.result]).toEqual([0, "ok"]);
    expect(of("public-websocket-silence")).toBeUndefined();
  });

  test("warns that clients may name their address without a proxy", async () => {
    const env = { SERVICE_LAUNCHER_TRUSTED_PROXIES: "127.0.0.1" };
    await using open = await startLauncher({ env });
    const words = ["doctor", "-public", open.base.href, "-quick", "-json"];
    const { code, stdout } = await runCommand(open.home, words);
    const { checks } = JSON.parse(stdout) as { checks: Check[] };
    const found = checks.filter(({ result }) => result !== "ok");
    expect([code, found.map(({ id }) => id)]).toEqual([0, ["public-client-address"]]);
    expect(found[0]?.fix).toContain("trusted_proxies");
  });

  test("uses gateway.public_url, and says that nothing answers there", async () => {
    const { code, of } = await check("-quick");
    expect([code, of("public-launcher")?.result]).toEqual([1, "failed"]);
    expect(of("public-launcher")?.reason).toContain("127.0.0.1:1 does not answer");
  });

  test("says that another Doorward answers", async () => {
    const { code, of } = await check(other.base.href, "-quick");
    expect(code).toBe(1);
    expect(of("public-launcher")?.reason).toContain("is another Doorward");
    expect(of("public-websocket")).toBeUndefined();
  });

  test.each([
    ["do=range", "public-range"],
    ["do=cookie", "public-cookies"],
    ["do=text", "public-compression"],
    ["last-event-id", "public-headers"],
    ["/pico/probe?do=facts", "public-channel"],
    ["do=next", "public-stream"],
  ])("makes a finding of a connection that is cut at %s", async (text, id) => {
    const request = (bytes: Buffer, client: Socket): void => {
      if (bytes.includes(text)) client.resetAndDestroy();
    };
    await relayed({ request }, async (url) => {
      const { code, of } = await check(url, "-quick");
      expect([code, of(id)?.result]).toEqual([1, "failed"]);
      expect(of(id)?.reason).toContain(`The connection to ${new URL(url).host} failed`);
      expect(of("public-launcher")?.result).toBe("ok");
    });
  });

  test("reads events that arrive in halves", async () => {
    const response = (bytes: Buffer, client: Socket): void => {
      const at = bytes.indexOf("data: {") + 3;
      if (at === 2) return void client.write(bytes);
      client.setNoDelay();
      client.write(bytes.subarray(0, at), () =>
        setTimeout(() => client.write(bytes.subarray(at)), 50),
      );
    };
    await relayed({ response }, async (url) => {
      const { of } = await check(url, "-quick");
      expect(of("public-stream")?.result).toBe("ok");
    });
  });

  test("makes a finding of an HTTP/2 session that ends immediately", async () => {
    const { leaf, intermediate, key } = certificateChain();
    const ALPNProtocols = ["h2", "http/1.1"];
    const server = createTlsServer({ cert: leaf + intermediate, key, ALPNProtocols }, (client) => {
      client.on("error", () => client.destroy());
      if (client.alpnProtocol === "h2") return void client.write(settingsAndGoAway);
      const upstream = connect(Number(launcher.base.port), "127.0.0.1");
      upstream.on("error", () => client.destroy());
      client.pipe(upstream).pipe(client);
      client.once("close", () => upstream.destroy());
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    try {
      const { port } = server.address() as AddressInfo;
      const { code, of } = await check(`https://127.0.0.1:${port}`, "-quick");
      expect([code, of("public-http2")?.result]).toEqual([1, "failed"]);
      expect(of("public-http2")?.reason).toContain("did not arrive (no response)");
      expect(of("public-stream")?.result).toBe("ok");
    } finally {
      server.close();
    }
  });

  test("says that the answer of the launcher was changed", async () => {
    const response = (bytes: Buffer, client: Socket): void =>
      void client.write(bytes.toString("latin1").replace('"direct"', '"dIrect"'), "latin1");
    await relayed({ response }, async (url) => {
      const { code, of } = await check(url, "-quick");
      expect([code, of("public-launcher")?.result]).toEqual([1, "failed"]);
      expect(of("public-launcher")?.reason).toContain("answered with 200");
    });
  });

  test("sends a token only where the certificate is valid", async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-token-"));
    const [token, ca] = [join(folder, "token"), join(folder, "ca.pem")];
    const { root, leaf, intermediate, key } = certificateChain();
    await Promise.all([writeFile(token, "token-of-the-proxy\n"), writeFile(ca, root)]);
    const seen: (string | undefined)[] = [];
    const server = createSecureServer({ cert: leaf + intermediate, key }, (request, response) => {
      seen.push(request.headers.authorization);
      response.end("{}");
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const { code, of } = await check(url, "-quick", "-token-file", token);
      expect([code, of("public-certificate")?.result]).toEqual([1, "failed"]);
      expect(of("public-certificate")?.reason).toContain("The token was not sent");
      expect(of("public-certificate")?.fix).toContain("-ca");
      expect(seen.filter(Boolean)).toEqual([]);
      await check(url, "-quick", "-token-file", token, "-ca", ca);
      expect(seen).toContain("Bearer token-of-the-proxy");
    } finally {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true });
    }
  });

  test("sends no token over http to another machine", async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-token-"));
    const token = join(folder, "token");
    await writeFile(token, "token-of-the-proxy");
    const seen: (string | undefined)[] = [];
    const listener: RequestListener = (request, response) => {
      seen.push(request.headers.authorization);
      response.end("{}");
    };
    await served(listener, async (url) => {
      // An address that is not known to be this machine.
      const { code, of } = await check(url.replace("127.0.0.1", "0.0.0.0"), "-token-file", token);
      expect([code, of("public-certificate")?.result]).toEqual([1, "failed"]);
      expect(of("public-certificate")?.reason).toContain("The token was not sent");
      expect(seen.filter(Boolean)).toEqual([]);
    });
    await rm(folder, { recursive: true });
  });

  test("names a file that cannot be read", async () => {
    const words = ["doctor", "-public", launcher.base.href, "-ca", join(launcher.home, "none.pem")];
    const { code, stderr } = await runCommand(launcher.home, words);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/Cannot read .*none\.pem: it does not exist/),
    ]);
  });

  test("says that another program answers, which learns no secret", async () => {
    const seen: string[] = [];
    const listener: RequestListener = (request, response) => {
      seen.push(String(request.headers["x-doorward-probe"]));
      // The program repeats what it has received at the launcher, as a thief would.
      response.setHeader("x-doorward-probe", String(request.headers["x-doorward-probe"])).end("{}");
    };
    await served(listener, async (url) => {
      const { code, of } = await check(url, "-quick");
      expect([code, of("public-launcher")?.result]).toEqual([1, "failed"]);
      expect(of("public-launcher")?.reason).toContain("not this launcher");
    });
    const [stolen] = seen;
    const headers = { "x-doorward-probe": stolen! };
    const { status } = await fetch(new URL("/pico/probe?do=facts", launcher.base), { headers });
    expect(status).toBe(404);
  });

  test.each(["/pico/probe?do=facts", "/pico/probe", "/api/probe?do=body"])(
    "hides the probe from strangers: %s",
    async (path) => {
      const headers = {
        "x-doorward-probe": `${"a".repeat(11)}.${"b".repeat(22)}.${"c".repeat(43)}`,
      };
      const [plain, forged] = await Promise.all(
        [{}, { headers }].map((given) => fetch(new URL(path, launcher.base), given)),
      );
      expect(plain!.status).toBe(path.startsWith("/api") ? 403 : 404);
      expect([forged!.status, await forged!.text()]).toEqual([plain!.status, await plain!.text()]);
      expect(plain!.headers.get("x-doorward-probe")).toBeNull();
    },
  );

  test("rejects options that do not fit", async () => {
    for (const words of [
      ["-quick"],
      ["-public", "door.example.org"],
      ["-public", "-silence", "0"],
    ]) {
      const { code } = await runCommand(launcher.home, ["doctor", ...words]);
      expect([words, code]).toEqual([words, 2]);
    }
  });

  test("needs a running launcher", async () => {
    const { code } = await runCommand(`${launcher.home}-none`, ["doctor", "-public", "-quick"]);
    expect(code).toBe(4);
  });

  test("names the port that nothing serves", async () => {
    const port = await freePort();
    const { of } = await check(`http://127.0.0.1:${port}`, "-quick");
    expect(of("public-launcher")?.fix).toContain("start the proxy");
  });
});
