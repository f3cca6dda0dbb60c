import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { join, menuInterface, menuPath } from "../plugins/tray/bus.ts";
import { enablePico, finishSetup, startLauncher } from "../e2e/launcher.ts";
import { startDesktop } from "./desktop.ts";

const folder = fileURLToPath(new URL("../../docs/images/", import.meta.url));

it.each([
  ["light", "Adwaita", "#cfdedb"],
  ["dark", "Adwaita:dark", "#22302e"],
])("shows the tray in a %s panel", async (name, theme, behind) => {
  await using desktop = await startDesktop({ theme });
  const args = ["-console", "-tray", "-port", "0", "-no-browser"];
  await using launcher = await startLauncher({ args, env: desktop.env });
  const channel = await enablePico(launcher, await finishSetup(launcher));
  const sockets = ["kitchen", "laptop", "garden"].map(
    (session) =>
      new WebSocket(new URL(`/pico?session_id=${session}`, launcher.base), [`token.${channel}`]),
  );
  await Promise.all(sockets.map((socket) => new Promise((open) => socket.once("open", open))));
  await desktop.iconIsThere();
  using bus = await join(desktop);
  const item = {
    destination: `org.kde.StatusNotifierItem-${launcher.child.pid}-1`,
    path: menuPath,
  };
  await vi.waitFor(async () => {
    const label = await bus.call({ ...item, interface: menuInterface }, "GetProperty", "is", [
      7,
      "label",
    ]);
    expect(label).toEqual([{ signature: "s", value: "Pico channel: 3 connections" }]);
  });
  const { y, height } = await desktop.menu(8);
  await desktop.shoot(`${folder}tray-${name}.png`, `420x${y + height + 16}+220+0`, behind);
  for (const socket of sockets) socket.close();
});
