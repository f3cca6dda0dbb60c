import { readFile } from "node:fs/promises";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { openScript } from "../../../plugins/tray/platforms/script.ts";
import { createView, type TrayFacts } from "../../../plugins/tray/view.ts";
import { type MenuChoice } from "../../../plugins/tray/service.ts";
import { after, waitFor } from "./bus.ts";
import { programs } from "../../support/tray-harness.ts";

const known: TrayFacts = { title: "Doorward", version: "1.2.3", state: "running", hasLog: false };

/**
 * A script with the protocol of the real ones. It writes its input to a file. After its input it
 * writes another choice, as a script that the user clicks at that moment; a closed pipe ends it.
 */
const standIn = (body: string): string => `exec ${process.execPath} -e '
  const { appendFileSync } = require("node:fs");
  const say = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
  require("node:readline").createInterface({ input: process.stdin })
    .on("line", (line) => { appendFileSync("'$HERE'/received", line + "\\n"); ${body} })
    .on("close", () => {
      say({ choice: "open" });
      setImmediate(() => { appendFileSync("'$HERE'/received", "end"); process.exit(0); });
    });
'`;

async function withScript(
  body: string,
  visit: (seen: {
    open(): ReturnType<typeof openScript>;
    chosen: MenuChoice[];
    shown: boolean[];
    received(): Promise<string>;
    leave(): void;
    lines: ReturnType<typeof createCapturedLog>["lines"];
  }) => Promise<void>,
): Promise<void> {
  await using tools = await programs({ tray: standIn(body) });
  const { log, lines } = createCapturedLog();
  const closing = new AbortController();
  const chosen: MenuChoice[] = [];
  const shown: boolean[] = [];
  const options = {
    env: { PATH: process.env["PATH"] },
    view: createView(known),
    choose: (choice: MenuChoice) => chosen.push(choice),
    shown: (is: boolean) => shown.push(is),
    required: true,
    log,
    after,
    closing: closing.signal,
  };
  try {
    await visit({
      open: () => openScript({ command: [`${tools.folder}/tray`], iconSize: 32 }, options),
      chosen,
      shown,
      lines,
      leave: () => closing.abort(),
      received: () => tools.read("received"),
    });
  } finally {
    closing.abort();
  }
}

describe("openScript", () => {
  test("sends the view as ASCII and reports the chosen item", async () => {
    const body = `say({ ready: true }); say({ choice: "copy-link" });
      say({ choice: "version" }); say({ choice: "rm" }); say([1]);
      process.stdout.write("no JSON\\n{\\"choice\\":");
      process.stdout.write("\\"quit\\"}\\n");`;
    await withScript(body, async ({ open, chosen, shown, received, leave }) => {
      const face = await open();
      await waitFor(() => expect(chosen).toEqual(["copy-link", "quit"]));
      face.show(createView({ ...known, state: "setup" }));
      expect(await face.notify("line one\nüber")).toBe(true);
      await waitFor(async () => expect((await received()).split("\n")).toHaveLength(4));
      const text = await received();
      expect(text).toMatch(/^[\n -~]*$/);
      const [first, second, third] = text
        .split("\n")
        .slice(0, 3)
        .map((line) => JSON.parse(line));
      expect(first.view).toMatchObject({
        title: "Doorward",
        hint: "running",
        items: createView(known).items,
      });
      expect(Buffer.from(first.view.icon, "base64").subarray(1, 4).toString()).toBe("PNG");
      expect(second.view.icon).not.toBe(first.view.icon);
      expect(third).toEqual({ notify: "line one\nüber" });
      leave();
      await waitFor(async () => expect(await received()).toMatch(/end$/));
      expect(chosen).not.toContain("open");
      expect(shown[0]).toBe(true);
    });
  });

  test("rejects if the script is missing or exits early", async () => {
    await withScript("process.exit(3);", ({ open }) =>
      expect(open()).rejects.toThrow(/tray script exited \(3\)/),
    );
    const { log } = createCapturedLog();
    const nowhere = openScript(
      { command: ["/nowhere/osascript"], iconSize: 32 },
      {
        env: {},
        view: createView(known),
        choose: () => 0,
        shown: () => 0,
        required: true,
        log,
        after,
        closing: new AbortController().signal,
      },
    );
    await expect(nowhere).rejects.toThrow(/\/nowhere\/osascript cannot be started/);
  });

  test("logs the exit and the errors of the script", async () => {
    const body = `say({ ready: true }); say({ error: "no icon" });
      process.stdout.write("x".repeat(9000) + "\\n", () => process.exit(1));`;
    await withScript(body, async ({ open, shown, lines }) => {
      const face = await open();
      await waitFor(() => expect(shown).toEqual([true, false]));
      expect(lines.map(({ level, text }) => [level, text])).toEqual([
        ["warn", "the tray script reported an error"],
        ["warn", "the tray script exited; the icon stays hidden"],
      ]);
      expect(await face.notify("anybody?")).toBe(false);
    });
  });
});

/** A Cocoa object that accepts every message and records assigned properties. */
function thing(own: Record<string, unknown> = {}): any {
  return new Proxy(
    Object.assign(() => thing(), own),
    {
      get: (target: any, name) =>
        name in target || typeof name === "symbol" ? target[name] : (target[name] = thing()),
    },
  );
}

describe("menu-bar.js with a simulated Cocoa", () => {
  test("draws the menu, reports choices and errors, exits with its input", async () => {
    const said: any[] = [];
    const input: string[] = [];
    const entries: any[] = [];
    const methods: Record<string, { implementation(given?: unknown): unknown }> = {};
    let ended = false;
    const bar = thing({ button: thing() });
    const $: any = Object.assign((value: unknown) => ({ dataUsingEncoding: () => value }), {
      NSFileHandle: {
        fileHandleWithStandardOutput: { writeData: (line: string) => said.push(JSON.parse(line)) },
        fileHandleWithStandardInput: {
          get availableData() {
            return { length: input[0]?.length ?? 0, text: input.shift() };
          },
        },
      },
      NSApplication: {
        sharedApplication: thing({
          terminate: () => {
            ended = true;
          },
        }),
      },
      NSStatusBar: { systemStatusBar: { statusItemWithLength: () => bar } },
      NSString: { alloc: { initWithDataEncoding: ({ text }: { text: string }) => ({ js: text }) } },
      NSMenu: {
        alloc: {
          get init() {
            return thing({ addItem: (entry: unknown) => entries.push(entry) });
          },
        },
      },
      NSMenuItem: {
        separatorItem: "separator",
        alloc: { initWithTitleActionKeyEquivalent: (label: string) => ({ label }) },
      },
      NSNotificationCenter: thing(),
      NSData: thing(),
      NSImage: thing(),
      NSMakeSize: () => 0,
      DoorwardTray: thing(),
      NSUserNotification: thing(),
      NSUserNotificationCenter: thing(),
    });
    const ObjC = {
      import: () => undefined,
      registerSubclass: (made: { methods: typeof methods }) => Object.assign(methods, made.methods),
    };
    const script = await readFile(
      new URL("../../../plugins/tray/scripts/menu-bar.js", import.meta.url),
      "utf8",
    );
    runInNewContext(`${script}\nrun();`, { $, ObjC });
    expect(said).toEqual([{ ready: true }]);

    const read = (text: string): unknown => {
      input.push(text);
      return methods["read:"]!.implementation();
    };
    const line = JSON.stringify({ view: { ...createView(known), icon: "" } });
    read(`no JSON\n${line.slice(0, 30)}`);
    expect(said[1].error).toMatch(/^SyntaxError/);
    read(`${line.slice(30)}\n{"notify":"x"}\n`);
    const drawn = createView(known).items.map((item) => (item === "separator" ? item : item.label));
    expect(entries.map((entry) => entry.label ?? entry)).toEqual(drawn);
    expect(entries.map(({ enabled }) => enabled)).toContain(false);
    expect(bar.button.toolTip).toBe("Doorward: running");
    methods["pick:"]!.implementation(entries.find(({ label }) => label === "Quit"));
    expect(said.at(-1)).toEqual({ choice: "quit" });
    read("");
    expect(ended).toBe(true);
  });
});
