import { writeFile } from "node:fs/promises";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { systemClock } from "../../../../../kernel/defaults.ts";
import { createCapturedLog } from "../../../../../kernel/testing.ts";
import { openControlSocket } from "../../../../../plugins/dashboard/server/control/socket.ts";
import { withHome } from "../../../../support/token-store-harness.ts";

const ask = (socketPath: string): Promise<string> =>
  new Promise((done, failed) => {
    request({ socketPath, path: "/" }, (answer) => done(text(answer)))
      .on("error", failed)
      .end();
  });

test("openControlSocket: gives one of several launchers the socket", () =>
  withHome(async (home) => {
    const [socket, note] = [home.at("launcher.sock"), home.at("launcher.json")];
    await writeFile(socket, "left behind");
    const launchers = await Promise.all(
      ["a", "b", "c"].map(async (version) => {
        const { log, lines } = createCapturedLog();
        const context = { log, version, clock: systemClock, http: { addresses: () => [] } };
        const close = await openControlSocket(
          context,
          { socket, note, pid: 1 },
          (_, answer) => void answer.end(version),
        );
        return { version, lines, close };
      }),
    );
    try {
      const [winner, ...others] = launchers.filter(({ lines }) => lines.length === 0);
      expect(others).toEqual([]);
      const warning = "another launcher uses this home and receives the commands";
      expect(launchers.flatMap(({ lines }) => lines).map(({ text }) => text)).toEqual([
        warning,
        warning,
      ]);
      expect(await ask(socket)).toBe(winner!.version);
      for (const launcher of launchers) if (launcher !== winner) await launcher.close();
      expect(await ask(socket)).toBe(winner!.version);
    } finally {
      for (const { close } of launchers) await close();
    }
  }));
