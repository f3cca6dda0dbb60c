import { WebSocket } from "ws";
import { describe, expect, test } from "vitest";
import { environment, type TokenBackend } from "../../../plugins/token-store/index.ts";
import {
  hasBus,
  menuInterface,
  menuPath,
  startBus,
  startPanel,
  waitFor,
  type Panel,
} from "./bus.ts";
import { clipboardScripts, programs, TOKEN, withTray } from "../../support/tray-harness.ts";

const there = "the tray icon is shown";
const labels = async (panel: Panel): Promise<string[]> =>
  (await panel.menu()).flatMap(({ label }) => label ?? []);

describe.skipIf(!hasBus)("tray", () => {
  test("shows its menu with the current number of connections", async () => {
    await using bus = await startBus();
    using panel = await startPanel(bus);
    await withTray({ env: bus.env, required: true }, async ({ kernel: { kernel, clock } }) => {
      const drawn = (text: string): Promise<void> =>
        waitFor(async () => {
          clock.increment(200);
          expect(await labels(panel)).toContain(text);
        });
      await drawn("Pico channel: 0 connections");
      expect(await labels(panel)).toEqual([
        "Open Dashboard",
        "Copy Console Token",
        "Copy Sign-in Link",
        "Rotate Token…",
        "Pico channel: 0 connections",
        "Show Log",
        "Doorward 1.2.3",
        "Quit",
      ]);
      const address = new URL("/pico", kernel.services.http.addresses()[0]);
      const socket = new WebSocket(address, ["token.pico-token-of-this-test-0123456789"]);
      await drawn("Pico channel: 1 connection");
      socket.close();
      await drawn("Pico channel: 0 connections");
      expect(panel.signals).toEqual(expect.arrayContaining(["LayoutUpdated", "NewToolTip"]));
      expect(await panel.property("ToolTip")).toEqual([
        "",
        [],
        "Doorward",
        "running, Pico channel: 0 connections",
      ]);
    });
  });

  test("opens the dashboard and its pages with one-time links", async () => {
    await using bus = await startBus();
    using panel = await startPanel(bus);
    await withTray({ env: bus.env, required: true }, async ({ opened, kernel: { kernel } }) => {
      const wanted: [() => Promise<void>, string][] = [
        [() => panel.activate(), "/"],
        [() => panel.click("Open Dashboard"), "/"],
        [() => panel.click("Rotate Token…"), "/security"],
        [() => panel.click("Pico channel: 0 connections"), "/clients/connections"],
        [() => panel.click("Show Log"), "/activity"],
      ];
      for (const [click, page] of wanted) {
        const before = opened.length;
        await click();
        await waitFor(() => expect(opened.length).toBe(before + 1));
        const link = opened.at(-1)!;
        const [address] = kernel.services.http.addresses();
        expect(link.hostname).toMatch(/^doorward-[0-9a-f]{20}\.localhost$/);
        expect(link.port).toBe(address!.port);
        expect(link.searchParams.get("token")).toMatch(/^ott_/);
        const answer = await fetch(new URL(link.pathname + link.search, address), {
          redirect: "manual",
        });
        expect([answer.status, answer.headers.get("location")]).toEqual([303, page]);
        expect(answer.headers.get("set-cookie")).toContain("_session_");
      }
    });
  });

  test("copies the token by standard input and clears it later", async () => {
    await using bus = await startBus();
    using panel = await startPanel(bus);
    await using tools = await programs(clipboardScripts);
    const env = { ...bus.env, PATH: `${tools.folder}:${bus.env["PATH"]}` };
    await withTray({ env, required: true }, async ({ kernel: { clock, lines }, logged }) => {
      await panel.click("Copy Console Token");
      await logged("the launcher token was copied to the clipboard");
      expect(await tools.read("clipboard")).toBe(TOKEN);
      expect(await tools.read("words")).not.toContain(TOKEN);
      expect(JSON.stringify(lines)).not.toContain(TOKEN);
      clock.increment(59_999);
      expect(await tools.read("clipboard")).toBe(TOKEN);
      clock.increment(1);
      await waitFor(async () => expect(await tools.read("clipboard")).toBe(""));
    });
  });

  test("keeps newer clipboard text and clears the token on stop", async () => {
    await using bus = await startBus();
    await using tools = await programs(clipboardScripts);
    const env = { ...bus.env, PATH: `${tools.folder}:${bus.env["PATH"]}` };
    const copyToken = async (
      panel: Panel,
      logged: (text: string) => Promise<void>,
    ): Promise<void> => {
      await panel.click("Copy Console Token");
      await logged("the launcher token was copied to the clipboard");
      expect(await tools.read("clipboard")).toBe(TOKEN);
    };
    {
      using panel = await startPanel(bus);
      await withTray({ env, required: true }, async ({ logged }) => {
        await copyToken(panel, logged);
        await panel.click("Copy Sign-in Link");
        await waitFor(async () =>
          expect(await tools.read("clipboard")).toMatch(
            /^http:\/\/127\.0\.0\.1:\d+\/login\?link=ott_/,
          ),
        );
      });
      expect(await tools.read("clipboard")).toContain("/login?link=ott_");
    }
    using panel = await startPanel(bus);
    await withTray({ env, required: true }, async ({ logged }) => copyToken(panel, logged));
    expect(await tools.read("clipboard")).toBe("");
  });

  test("shows a notification if no clipboard program works", async () => {
    await using bus = await startBus();
    using panel = await startPanel(bus);
    await withTray({ env: { ...bus.env, PATH: "/nowhere" }, required: true }, async () => {
      await panel.click("Copy Console Token");
      await waitFor(() => expect(panel.messages).toHaveLength(1));
      expect(panel.messages[0]).toEqual([
        "Doorward",
        "Cannot copy the token: none of xclip, xsel works. Run: doorward token show",
      ]);
    });
  });

  test("disables copying a token that the environment sets", async () => {
    await using bus = await startBus();
    using panel = await startPanel(bus);
    await using tools = await programs(clipboardScripts);
    const env = {
      ...bus.env,
      PATH: `${tools.folder}:${bus.env["PATH"]}`,
      SERVICE_LAUNCHER_TOKEN: TOKEN,
    };
    const form = environment({
      env: { ...env, SERVICE_CHANNELS_PICO_TOKEN: `pico-${TOKEN}` },
    }) as TokenBackend;
    await withTray({ env, form, required: true }, async () => {
      const row = (await panel.menu()).find(({ label }) =>
        label?.startsWith("Copy Console Token"),
      )!;
      expect(row).toMatchObject({
        label: "Copy Console Token (set by the environment)",
        enabled: false,
      });
      await panel.click(row.label!);
      await panel.click("Copy Sign-in Link");
      await waitFor(async () => expect(await tools.read("clipboard")).toContain("link=ott_"));
      expect(await tools.read("words")).toBe("-selection clipboard -in\n");
      expect(await tools.read("environment")).toContain("DISPLAY=:none");
      expect(await tools.read("environment")).not.toMatch(/TOKEN/);
    });
  });

  test("quits once and shows the address if no browser opens", async () => {
    await using bus = await startBus();
    using panel = await startPanel(bus);
    await withTray(
      { env: bus.env, required: true, open: async () => false },
      async ({ quits, kernel: { kernel } }) => {
        await panel.click("Open Dashboard");
        await waitFor(() => expect(panel.messages).toHaveLength(1));
        const { href } = kernel.services.http.addresses()[0]!;
        expect(panel.messages[0]![1]).toBe(`Cannot open a browser. The dashboard is at ${href}`);
        await panel.click("Quit");
        await waitFor(() => expect(quits()).toBe(1));
      },
    );
  });

  test("rejects invalid calls of a panel", async () => {
    await using bus = await startBus();
    using panel = await startPanel(bus);
    await withTray({ env: bus.env, required: true }, async ({ opened, quits }) => {
      const zero = { signature: "i", value: 0 };
      const strange: [string, string, any[], RegExp][] = [
        ["Event", "isvu", [99, "clicked", zero, 0], /no such item/],
        ["Event", "isvu", [-1, "clicked", zero, 0], /no such item/],
        ["Event", "s", ["Quit"], /expects the signature "isvu"/],
        ["GetLayout", "iias", [77, -1, []], /no such item/],
        ["GetProperty", "is", [1, "icon-data"], /no such property/],
        ["constructor", "", [], /no such method/],
      ];
      for (const [member, signature, body, words] of strange) {
        await expect(panel.call(menuPath, menuInterface, member, signature, body)).rejects.toThrow(
          words,
        );
      }
      await expect(panel.call("/elsewhere", menuInterface, "Event")).rejects.toThrow(
        "no such object",
      );
      const [missing] = await panel.call(menuPath, menuInterface, "EventGroup", "a(isvu)", [
        [
          [55, "clicked", zero, 0],
          [9, "clicked", zero, 0],
          [2, "clicked", zero, 0],
          [11, "hovered", zero, 0],
        ],
      ]);
      expect(missing).toEqual([55]);
      const [groups] = await panel.call(menuPath, menuInterface, "GetGroupProperties", "aias", [
        [1, 99],
        ["label"],
      ]);
      expect(groups).toEqual([
        [1, new Map([["label", { signature: "s", value: "Open Dashboard" }]])],
      ]);
      expect([opened, quits()]).toEqual([[], 0]);
    });
  });
});

describe.skipIf(!hasBus)("tray icon", () => {
  test("returns when the panel returns", async () => {
    await using bus = await startBus();
    const first = await startPanel(bus);
    await withTray(
      { env: bus.env, required: true },
      async ({ logged, texts, kernel: { clock }, quits }) => {
        first[Symbol.dispose]();
        await logged("the tray icon is hidden; it returns when the panel returns");
        using second = await startPanel(bus);
        await waitFor(() => {
          // Small steps, because a call to the bus times out after 10 s of this clock.
          clock.increment(50);
          expect(second.items).not.toEqual([]);
        });
        await second.click("Quit");
        await waitFor(() => expect(quits()).toBe(1));
        expect(texts().filter((text) => text === there)).toHaveLength(2);
      },
    );
  });

  test("returns when the bus returns", async () => {
    const first = await startBus();
    const panel = await startPanel(first);
    await withTray(
      { env: { ...first.env, DBUS_SESSION_BUS_ADDRESS: first.address }, required: true },
      async ({ logged, kernel: { clock }, quits }) => {
        panel[Symbol.dispose]();
        await first[Symbol.asyncDispose]();
        await logged("the session bus closed the connection; reconnecting");
        clock.increment(1_000);
        await using bus = await startBus(first.address);
        using again = await startPanel(bus);
        await waitFor(() => {
          clock.increment(50);
          expect(again.items).not.toEqual([]);
        });
        await again.click("Quit");
        await waitFor(() => expect(quits()).toBe(1));
      },
    );
  });

  test("appears when the panel starts after the launcher", async () => {
    await using bus = await startBus();
    await withTray({ env: bus.env }, async ({ logged, kernel: { clock } }) => {
      await logged("the tray icon is not visible yet; it appears when a panel accepts it");
      using panel = await startPanel(bus);
      await waitFor(() => {
        // Small steps, because a call to the bus times out after 10 s of this clock.
        clock.increment(50);
        expect(panel.items).not.toEqual([]);
      });
      await logged(there);
    });
  });
});

describe("tray without a desktop", () => {
  const display = { DISPLAY: ":0", XDG_RUNTIME_DIR: "/nowhere" };
  test.each([
    ["a display", {}, "there is no display: DISPLAY and WAYLAND_DISPLAY are not set"],
    ["a local terminal", { ...display, SSH_CONNECTION: "a b" }, "this is a remote terminal (SSH)"],
    ["a bus", display, "there is no session bus (connect ENOENT /nowhere/bus)"],
    [
      "a bus with a socket",
      { ...display, DBUS_SESSION_BUS_ADDRESS: "tcp:host=127.0.0.1,port=1" },
      "there is no session bus (DBUS_SESSION_BUS_ADDRESS names no Unix socket)",
    ],
  ])("logs the reason or fails if required, without %s", async (_, env, why) => {
    await withTray({ env }, async ({ logged, texts, kernel: { lines } }) => {
      await logged("the tray icon is not available");
      expect(texts()).toEqual(["the tray icon is not available"]);
      expect(lines.find(({ text }) => text === "the tray icon is not available")).toMatchObject({
        reason: why,
        level: "info",
      });
    });
    const start = withTray({ env, required: true }, async () => undefined);
    await expect(start).rejects.toMatchObject({
      code: "TRAY_UNAVAILABLE",
      message: `The tray cannot be shown: ${why}.`,
    });
  });

  test.skipIf(!hasBus)("fails the start if required without a panel or host", async () => {
    await using bus = await startBus();
    const start = (): Promise<void> =>
      withTray({ env: bus.env, required: true }, async () => undefined);
    await expect(start()).rejects.toThrow(/no panel accepts icons of programs/);
    using panel = await startPanel(bus, { hasHost: false });
    await expect(start()).rejects.toThrow("no panel shows icons of programs");
    expect(panel.items).toHaveLength(1);
  });
});
