import { execFile } from "node:child_process";
import { access, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "./source.ts";

/* Measures which files a deployment loads, in a separate process on the built package: every module
 * of Node's loader, and every file in the cache of `require`. */

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  await access(join(root, "dist/config/presets/client-only.js")).catch(() => {
    throw new Error("dist/ is missing. Run: npm run build");
  });
  folder = await mkdtemp(join(tmpdir(), "doorward-loading-"));
  await writeFile(
    join(folder, "hooks.mjs"),
    `import { appendFileSync } from "node:fs";
    export function load(url, context, next) {
      appendFileSync(process.env.LOADED, url + "\\n");
      return next(url, context);
    }`,
  );
  await writeFile(
    join(folder, "register.mjs"),
    `import { register } from "node:module";
    register(${JSON.stringify(pathToFileURL(join(folder, "hooks.mjs")).href)});`,
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Loaded {
  /** Folders of this package. */
  readonly own: string[];
  /** Names of other packages. */
  readonly packages: string[];
  /** Paths of files of this package. */
  readonly files: string[];
}

async function loadedBy(script: string): Promise<Loaded> {
  const list = join(await mkdtemp(join(folder, "run-")), "loaded.txt");
  const hooks = pathToFileURL(join(folder, "register.mjs")).href;
  const code = `${script}
    const { createRequire } = await import("node:module");
    const { appendFileSync } = await import("node:fs");
    const { cache } = createRequire(${JSON.stringify(join(root, "package.json"))});
    appendFileSync(process.env.LOADED, Object.keys(cache).join("\\n"));`;
  const env = { ...process.env, LOADED: list };
  await run(process.execPath, ["--import", hooks, "--input-type=module", "-e", code], {
    cwd: root,
    env,
  });
  const urls = (await readFile(list, "utf8")).split("\n").filter((line) => line.includes("/"));
  const parts = (pattern: RegExp): string[] =>
    [...new Set(urls.flatMap((url) => pattern.exec(url)?.[1] ?? []))].sort();
  const own = urls.filter((url) => url.startsWith("file:") && url.includes("/dist/"));
  return {
    files: [...new Set(own.map((url) => fileURLToPath(url)))],
    own: parts(/\/dist\/((?:(?:lib|plugins)\/)?[^/]+)\//),
    packages: parts(/\/node_modules\/((?:@[^/]+\/)?[^/]+)\//),
  };
}

const silent = `const nothing = () => {};
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };`;

describe("loaded modules", () => {
  test("exclude web framework, dashboard and servers in the client-only preset", async () => {
    const { own, packages } = await loadedBy(`${silent}
      const { createClientOnly } = await import("./dist/config/presets/client-only.js");
      const env = {
        SERVICE_CHANNELS_PICO_CLIENT_URL: "ws://127.0.0.1:1/pico",
        SERVICE_CHANNELS_PICO_CLIENT_TOKEN: "correct-horse-battery-staple",
      };
      const application = () => {};
      const home = ${JSON.stringify(join(folder, "home"))};
      const kernel = await createClientOnly({ home, env, log, application });
      await kernel.start();
      await kernel.stop();`);
    const libraries = ["files", "pico-link", "pico-wire"].map((name) => `lib/${name}`);
    const plugins = ["channels", "pico-client", "token-store"];
    expect(own).toEqual([
      "config",
      "kernel",
      "lib",
      ...libraries,
      ...plugins.map((name) => `plugins/${name}`),
    ]);
    expect(packages).toEqual(["mitt", "ws", "xstate", "zod"]);
  });

  /** Text that occurs only in the web framework, the servers and the log library. */
  const heavy =
    /FST_ERR_|"?dashboard:signed-in|"?pico-server:connected|"?http:listening|\bpino-pretty\b/;
  async function program(...words: string[]): Promise<string> {
    const { files } = await loadedBy(`
      process.argv = ${JSON.stringify(["node", "doorward", ...words])};
      process.env.SERVICE_HOME = ${JSON.stringify(join(folder, "home"))};
      process.env.SERVICE_CHANNELS_PICO_CLIENT_URL = "ws://127.0.0.1:1/pico";
      process.env.SERVICE_CHANNELS_PICO_CLIENT_TOKEN = "correct-horse-battery-staple";
      await import("./dist/bin/start.js");
      process.exitCode = 0;`);
    return (await Promise.all(files.map((file) => readFile(file, "utf8")))).join("\n");
  }

  test("exclude web framework, dashboard, servers and log library in client commands", async () => {
    const text = await program("send", "hello");
    expect(text).toContain("pico-client:link-changed");
    expect(heavy.exec(text)?.[0]).toBeUndefined();
  });

  test("contain every searched text in the built launcher", async () => {
    const names = (await readdir(join(root, "dist/bin"))).filter((name) => name.endsWith(".js"));
    const texts = await Promise.all(
      names.map((name) => readFile(join(root, "dist/bin", name), "utf8")),
    );
    for (const mark of heavy.source.split("|")) expect(texts.join("\n")).toMatch(new RegExp(mark));
  });

  test("exclude the drawing code of the tray without a desktop", async () => {
    const { files } = await loadedBy(`${silent}
      const { createLauncher } = await import("./dist/config/presets/launcher.js");
      const home = ${JSON.stringify(join(folder, "ownership"))};
      const tray = { open: async () => false, quit: nothing };
      const options = { home, env: {}, version: "", log, flags: { port: 0 }, tray };
      const kernel = await createLauncher(options);
      await kernel.start();
      await kernel.stop();`);
    const seen = files.flatMap(
      (file) => /\/plugins\/tray\/(.*)$/.exec(file.replaceAll("\\", "/"))?.[1] ?? [],
    );
    expect(seen.sort()).toEqual(["desktop.js", "errors.js", "index.js"]);
  });

  test("exclude other packages in a page bundled with the client", async () => {
    const { metafile } = await build({
      stdin: { contents: `export * from "doorward/client";`, resolveDir: root },
      bundle: true,
      format: "esm",
      platform: "browser",
      write: false,
      metafile: true,
    });
    const inputs = Object.keys(metafile.inputs).filter((name) => name !== "<stdin>");
    expect(inputs).toContain("dist/lib/pico-link/browser.js");
    expect(inputs.filter((name) => !/^dist\/lib\/pico-(link|wire)\//.test(name))).toEqual([]);
  });

  test("exclude web framework, dashboard and log library in a channel host", async () => {
    const { own, packages } =
      await loadedBy(`await import("doorward"); await import("doorward/plugins/http");
      await import("doorward/plugins/channels"); await import("doorward/plugins/pico-server");`);
    expect(own).toEqual([
      "kernel",
      "lib",
      "lib/pico-wire",
      "plugins/channels",
      "plugins/conversations",
      "plugins/http",
      "plugins/pico-server",
    ]);
    expect(packages).toEqual(["mitt", "xstate", "zod"]);
  });

  const framework = join(root, "dist/plugins/dashboard/server/web-framework.js");
  const startDashboard = `${silent}
    const { createKernel } = await import("doorward");
    const { http } = await import("doorward/plugins/http");
    const { dashboard } = await import("doorward/plugins/dashboard");
    const { memory, tokenStore } = await import("doorward/plugins/token-store");
    const store = tokenStore(memory({ launcher: "correct-horse-battery-staple" }));
    const kernel = createKernel([store, http({ port: 0 }), dashboard()], { log });
    await kernel.start();`;

  test("exclude the web framework until a request reaches the dashboard", async () => {
    const { files } = await loadedBy(`${startDashboard} await kernel.stop();`);
    expect(files).not.toContain(framework);
  });

  test("include the bundled web framework after a request", async () => {
    const { files, packages } = await loadedBy(`${startDashboard}
      const [base] = kernel.services.http.addresses();
      const { status } = await fetch(new URL("/login", base));
      if (status !== 200) throw new Error(String(status));
      await kernel.stop();`);
    expect(files).toContain(framework);
    expect(packages).toEqual(["mitt", "xstate", "zod"]);
  });

  test("include only the codec for the entry point of the codec", async () => {
    const { own, packages } = await loadedBy(`await import("doorward/plugins/pico-wire");`);
    expect({ own, packages }).toEqual({ own: ["lib/pico-wire"], packages: [] });
  });
});
