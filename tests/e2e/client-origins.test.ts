// Tests to which servers the commands send which token, also with proxies in the environment.
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { createProxy } from "../plugins/pico-client/tunnel.ts";
import { startRemote, token } from "../support/pico-client-harness.ts";
import { awayFrom, startClient, type Variables } from "./client.ts";
import { startLauncher } from "./launcher.ts";

const place = awayFrom();
const nothing = {
  SERVICE_CHANNELS_PICO_CLIENT_ENABLED: "",
  SERVICE_CHANNELS_PICO_CLIENT_URL: "",
  SERVICE_CHANNELS_PICO_CLIENT_TOKEN: "",
};

async function run(args: readonly string[], env: Variables) {
  await using client = await startClient(place, args, { ...nothing, ...env });
  client.child.stdin.end("hello\n");
  return await client.ended;
}

describe("doorward send with a proxy in the environment", () => {
  test("reaches the own launcher without the proxy", async () => {
    await using proxy = await createProxy(502);
    const home = await mkdtemp(join(place.folder, "launcher-"));
    await mkdir(join(home, ".service"), { mode: 0o700 });
    await writeFile(
      join(home, ".service", "config.json"),
      '{"channels":{"pico":{"enabled":true}}}',
    );
    for (const host of ["127.0.0.1", "localhost"]) {
      await using launcher = await startLauncher({
        home,
        args: ["-console", "-port", "0", "-host", host],
        env: { SERVICE_CHANNELS_PICO_TOKEN: token },
      });
      const proxies = {
        HTTP_PROXY: `http://${proxy.address}`,
        https_proxy: `http://${proxy.address}`,
        all_proxy: `http://${proxy.address}`,
        NO_PROXY: "",
      };
      const env = { SERVICE_HOME: launcher.home, ...proxies };
      expect(await run(["send", "hello"], env)).toMatchObject({ code: 0, out: "hello\n" });
      expect(await run(["client"], env)).toMatchObject({ code: 0, out: "hello\n" });
    }
    expect(proxy.asked).toEqual([]);
  });
});

describe("doorward send -url", () => {
  let home = "";
  let filed: Variables;
  beforeAll(async () => {
    home = await mkdtemp(join(place.folder, "filed-"));
    filed = { SERVICE_HOME: home };
    const channels = { pico_client: { enabled: true, url: place.url } };
    await writeFile(join(home, "config.json"), JSON.stringify({ channels }));
    const security = `channels:\n  pico_client:\n    token: ${token}\n`;
    await writeFile(join(home, ".security.yml"), security, { mode: 0o600 });
  });

  test("sends the token of the files to the server of the files", async () => {
    const { host } = new URL(place.url);
    for (const args of [[], ["-url", place.url], ["-url", `http://${host}/pico?x=1`]])
      expect(await run(["send", ...args, "hello"], filed)).toMatchObject({ code: 0 });
  });

  test("sends it to no other origin and says why", async () => {
    await using other = await startRemote();
    const encrypted = place.url.replace("ws:", "wss:");
    const name = place.url.replace("127.0.0.1", "localhost");
    for (const url of [other.url, encrypted, name])
      for (const command of [
        ["send", "-url", url, "hello"],
        ["client", "-url", url],
      ]) {
        const { code, out, err } = await run(command, filed);
        expect([url, code, out]).toEqual([url, 1, ""]);
        expect(err).toContain(`belongs to ${new URL(place.url).origin}`);
        expect(err).toContain(`not sent to ${new URL(url).origin}`);
        expect(err).toContain("-token-file");
        expect(err).not.toContain(token);
      }
    expect(other.heard).toEqual([]);
  });

  test("sends a token of the variable or of -token-file to any server", async () => {
    await using other = await startRemote();
    const file = join(home, "token");
    await writeFile(file, token);
    const given = ["send", "-url", other.url, "-token-file", file, "hello"];
    expect(await run(given, filed)).toMatchObject({ code: 0, out: "you said hello\n" });
    const variable = { ...filed, SERVICE_CHANNELS_PICO_CLIENT_TOKEN: token };
    expect(await run(["send", "-url", other.url, "hello"], variable)).toMatchObject({ code: 0 });
  });

  test("rejects a variable that leads a token elsewhere", async () => {
    await using other = await startRemote();
    const variable = { ...filed, SERVICE_CHANNELS_PICO_CLIENT_URL: other.url };
    const { code, err } = await run(["send", "hello"], variable);
    expect(code).toBe(1);
    expect(err).toContain("channels.pico_client.url in config.json");
    expect(other.heard).toEqual([]);
  });
});
