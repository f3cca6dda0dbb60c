// Tests that the TLS listener accepts TLS 1.2 and 1.3 only.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type SecureVersion, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { http } from "../../../plugins/http/index.ts";
import { selfSigned } from "./certificate.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "doorward-tls-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Returns the negotiated version, or the alert of the server. */
function handshake(port: number, maxVersion: SecureVersion): Promise<string | null> {
  return new Promise((done) => {
    const socket: TLSSocket = connect({
      port,
      host: "127.0.0.1",
      rejectUnauthorized: false,
      minVersion: "TLSv1",
      maxVersion,
      ciphers: "DEFAULT@SECLEVEL=0", // otherwise this client would not offer the old versions
    });
    socket.on("secureConnect", () => {
      done(socket.getProtocol());
      socket.destroy();
    });
    socket.on("error", ({ code }: NodeJS.ErrnoException) => done(code ?? "unknown"));
  });
}

describe("TLS listener", () => {
  test("negotiates 1.3 or 1.2 and rejects older versions", async () => {
    const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
    const made = selfSigned();
    await writeFile(tls.cert, made.cert);
    await writeFile(tls.key, made.key);
    await withKernel(
      [http({ port: 0 })],
      async ({ kernel: { services } }) => {
        const port = Number(services.http.addresses()[0]!.port);
        const alert = "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION";
        expect(await handshake(port, "TLSv1.3")).toBe("TLSv1.3");
        expect(await handshake(port, "TLSv1.2")).toBe("TLSv1.2");
        expect([await handshake(port, "TLSv1.1"), await handshake(port, "TLSv1")]).toEqual([
          alert,
          alert,
        ]);
      },
      { config: { launcher: { tls } } },
    );
  });
});
