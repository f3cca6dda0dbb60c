// Tests `doorward doctor -public` without a proxy, and with URLs that lead elsewhere.
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

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
