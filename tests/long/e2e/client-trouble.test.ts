// Tests the built client with a shared home, TLS and token rotation.
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";
import { describe, expect, test } from "vitest";
import { selfSigned } from "../../plugins/http/certificate.ts";
import { createProxy } from "../../plugins/pico-client/tunnel.ts";
import { awayFrom, startClient, type Running, type Variables } from "../../e2e/client.ts";
import { enablePico, finishSetup, spawnLauncher, startLauncher } from "../../e2e/launcher.ts";

const place = awayFrom();
const start = (args: readonly string[], env: Variables = {}): Promise<Running> =>
  startClient(place, args, env);

async function send(env: Variables): Promise<{ code: number | null; out: string; err: string }> {
  const client = await start(["send", "hello"], env);
  client.child.stdin.end();
  return client.ended;
}

describe("doorward client", () => {
  test("uses its own conversation if another process shares the home", async () => {
    await using first = await start(["client", "-json"]);
    first.child.stdin.write('{"type":"message.send","id":"m1","payload":{"content":"one"}}\n');
    await first.said(/you said one/);
    const second = await start(["client", "-json"], { SERVICE_HOME: first.home });
    second.child.stdin.end('{"type":"message.send","id":"m2","payload":{"content":"two"}}\n');
    const { code, out, err } = await second.ended;
    expect(code).toBe(0);
    expect(out).toContain("you said two");
    expect(err).toContain("another process has the conversation");
    const [one, two] = place.there.heard.slice(-2);
    expect(one?.session).not.toBe(two?.session);
  });

  test("verifies wss:// certificates with ca_file, also through a proxy", async () => {
    await using proxy = await createProxy();
    const { cert, key } = selfSigned();
    const secure = createServer({ cert, key }, (socket) => {
      const inner = connect(place.there.port, "127.0.0.1");
      socket.pipe(inner).pipe(socket);
      for (const end of [socket, inner])
        end.on("error", () => [socket, inner].forEach((each) => each.destroy()));
    }).listen(0, "127.0.0.1");
    await once(secure, "listening");
    const ca = join(place.folder, "ca.pem");
    await writeFile(ca, cert);
    const away = {
      SERVICE_CHANNELS_PICO_CLIENT_URL: `wss://there.example:${(secure.address() as AddressInfo).port}/pico`,
      HTTPS_PROXY: `http://${proxy.address}`,
    };
    const refused = await send(away);
    expect(refused.code).toBe(4);
    expect(refused.err).toContain("certificate");
    const taken = await send({ ...away, SERVICE_CHANNELS_PICO_CLIENT_CA_FILE: ca });
    expect(taken).toEqual({ code: 0, out: "you said hello\n", err: "" });
    expect(proxy.asked.length).toBeGreaterThan(1);
    secure.close();
  });

  test("continues with the new token after a rotation in its home", async () => {
    await using launcher = await startLauncher();
    await enablePico(launcher, await finishSetup(launcher));
    const unnamed = {
      SERVICE_CHANNELS_PICO_CLIENT_URL: "",
      SERVICE_CHANNELS_PICO_CLIENT_TOKEN: "",
    };
    await using client = await start(["client", "-json"], {
      SERVICE_HOME: launcher.home,
      ...unnamed,
    });
    const say = (content: string): void => {
      client.child.stdin.write(
        `${JSON.stringify({ type: "message.send", id: content, payload: { content } })}\n`,
      );
    };
    say("before");
    await client.said(/"content":"before"/);
    await using rotation = await spawnLauncher({
      args: ["token", "rotate", "pico"],
      env: { SERVICE_HOME: launcher.home },
    });
    expect(await rotation.ended).toMatchObject({ code: 0 });
    say("after");
    await client.said(/"content":"after"/);
  });
});
