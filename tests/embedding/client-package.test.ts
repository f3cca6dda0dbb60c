import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, launchBrowser } from "../browser/browser.ts";
import { root } from "../rules/source.ts";
import { embedded, listening, token } from "./support.ts";

/* Packs the client, installs it in an empty project without network access, and uses it there. */

const run = promisify(execFile);
const cleanups: (() => unknown)[] = [];
let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "doorward-client-package-"));
  cleanups.push(() => rm(project, { recursive: true, force: true }));
  await writeFile(join(project, "package.json"), '{"private":true,"type":"module"}');
  const npm = (...args: string[]) => run("npm", args, { cwd: project });
  const { stdout } = await npm("pack", join(root, "dist-client"), "--json");
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  await npm("install", "--offline", "--engine-strict", "--no-audit", "--no-fund", `./${filename}`);
});
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Starts a server with a channel, and the page `/` that loads `script`. */
async function startChannel(script = "") {
  const page = `<!doctype html><title>client</title><script type="module">${script}</script>`;
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(page);
  });
  const kernel = embedded({ server });
  await kernel.start();
  const port = await listening(server);
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await kernel.stop();
    },
  };
}

/** The code of a client that passes the reply to its message, or the first state, to `show`. */
const program = (show: string, url: string, state = "") => `
import { connect } from "doorward-client";
const chat = connect({
  url: ${JSON.stringify(url)},
  token: ${JSON.stringify(token)},
  onMessage({ content }) { ${show}(content); },
  ${state}
});
await chat.send("hello").accepted.catch((error) => ${show}(error.code));
chat.close();
`;

async function runNode(code: string): Promise<string> {
  await writeFile(join(project, "program.js"), code);
  return (await run(process.execPath, ["program.js"], { cwd: project })).stdout.trim();
}

describe("doorward-client", () => {
  test("installs one package without dependencies", async () => {
    const lock = JSON.parse(await readFile(join(project, "package-lock.json"), "utf8")) as {
      packages: Record<string, { dependencies?: object }>;
    };
    const { "": _, ...installed } = lock.packages;
    expect(Object.keys(installed)).toEqual(["node_modules/doorward-client"]);
    expect(installed["node_modules/doorward-client"]!.dependencies).toBeUndefined();
  });

  test("names the missing package on a platform without WebSocket", async () => {
    const state = `onState({ to, reason, check }) {
      if (to !== "blocked") return;
      console.log([reason, check].join(": "));
      chat.close();
    },`;
    const code = program("console.log", "ws://127.0.0.1:1/pico", state);
    const printed = await runNode(
      `delete globalThis.WebSocket;\nconst { connect } = await import("doorward-client");
      ${code.replace(/^import .*$/m, "")}`,
    );
    expect(printed).toBe("no_websocket: Node 20 needs the package ws: npm install ws\nclosed");
  });

  test("talks to a channel from Node", async () => {
    await using channel = await startChannel();
    const ws = join(project, "node_modules", "ws");
    await symlink(join(root, "node_modules", "ws"), ws);
    const url = `ws://127.0.0.1:${channel.port}/pico`;
    expect(await runNode(program("console.log", url))).toBe("you said hello");
    await rm(ws);
  });

  test.skipIf(!hasBrowser)("talks to a channel from a bundled page", async () => {
    const bundle = await build({
      stdin: {
        contents: program("((text) => { document.title = text; })", "/pico"),
        resolveDir: project,
      },
      bundle: true,
      format: "esm",
      platform: "browser",
      target: "es2023",
      write: false,
    });
    await using channel = await startChannel(bundle.outputFiles[0]!.text);
    const browser = await launchBrowser();
    cleanups.push(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${channel.port}/`);
    await expect.poll(() => page.title()).toBe("you said hello");
  });

  test.each([
    ["browser", "browser.js"],
    ["neutral", "browser.js"],
    ["node", "client.js"],
  ] as const)("bundles its form for the platform %s", async (platform, entry) => {
    const { metafile } = await build({
      stdin: { contents: program("show", "/pico"), resolveDir: project },
      bundle: true,
      format: "esm",
      platform,
      external: ["ws"],
      metafile: true,
      write: false,
    });
    const inputs = Object.keys(metafile.inputs).map((path) => path.split("/").at(-1));
    expect(inputs.filter((name) => /^(?:browser|client)\.js$/.test(name!))).toEqual([entry]);
  });

  test.each([
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("compiles with module %s and without other declarations", async (module, resolution) => {
    await writeFile(
      join(project, "types.ts"),
      `import { connect, type Client } from "doorward-client";
      export const chat: Client = connect({ url: "/pico", token: "" });
      // @ts-expect-error
      chat.send(1);`,
    );
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const options = ["--strict", "--noEmit", "--skipLibCheck", "false", "--target", "es2023"];
    const resolving = ["--module", module, "--moduleResolution", resolution, "--types", ""];
    await run(process.execPath, [tsc, ...options, ...resolving, "types.ts"], { cwd: project });
  });
});
