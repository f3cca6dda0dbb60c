// Tests `doorward expose caddy` with a real Caddy, up to a page in a browser.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "../../browser/browser.ts";
import { caddy } from "../../e2e/caddy.ts";
import { freePort } from "../../e2e/free-port.ts";
import { finishSetup, startLauncher, type RunningLauncher } from "../../e2e/launcher.ts";
import { runCommand } from "../../e2e/run-command.ts";

const commented = `{
  "_comment": "Mine: stays.",
     "session_days"  :  3,
  "allowed_hosts": ["other.example.org"]
}
`;

describe("doorward expose caddy", () => {
  let folder: string;
  let caddyfile: string;
  let launcher: RunningLauncher;
  let server: ChildProcess | undefined;
  let port: number;
  let options: string;

  beforeEach(({ skip }) => skip(caddy === undefined, "needs caddy"));
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "doorward-expose-"));
    const home = join(folder, "home");
    await mkdir(home, { mode: 0o700 });
    await writeFile(join(home, "launcher-config.json"), commented, { mode: 0o600 });
    await mkdir(join(folder, "caddy"));
    caddyfile = join(folder, "caddy", "Caddyfile");
    const [admin, first] = await Promise.all([freePort(), freePort()]);
    port = first;
    options = [
      "{",
      `\tadmin localhost:${admin}`,
      `\tstorage file_system ${join(folder, "storage")}`,
      "\tskip_install_trust",
      "\tauto_https disable_redirects",
      "}",
      "",
    ].join("\n");
    await writeFile(caddyfile, `${options}import *.caddy\n`);
    const env = {
      SERVICE_HOME: home,
      SERVICE_CHANNELS_PICO_ENABLED: "true",
      SERVICE_CHANNELS_PICO_TOKEN: "token-of-the-channel-1",
    };
    launcher = await startLauncher({ env });
    await finishSetup(launcher);
  });
  afterAll(async () => {
    server?.kill("SIGTERM");
    await launcher?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const expose = (name: string, ...words: string[]) =>
    runCommand(launcher.home, ["expose", "caddy", name, "-caddyfile", caddyfile, ...words]);
  const files = (): Promise<string[]> => readdir(join(folder, "caddy"));

  async function startCaddy(): Promise<void> {
    const words = ["run", "--adapter", "caddyfile", "--config", caddyfile];
    const child = spawn(caddy!, words, {
      cwd: join(folder, "caddy"),
      env: { PATH: process.env["PATH"] ?? "", HOME: folder },
      stdio: ["ignore", "ignore", "pipe"],
    });
    server = child;
    await new Promise<void>((resolve, reject) => {
      let said = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.includes("serving initial configuration")) resolve();
      });
      child.once("close", () => reject(new Error(said)));
    });
  }

  test("shows what it would do, and changes nothing", async () => {
    const { code, stdout } = await expose(`localhost:${port}`);
    expect(code).toBe(0);
    expect(stdout).toContain(`reverse_proxy 127.0.0.1:${launcher.base.port}`);
    expect(stdout).toContain(`gateway.public_url = https://localhost:${port}`);
    expect(await files()).toEqual(["Caddyfile"]);
    expect(await readFile(join(launcher.home, "launcher-config.json"), "utf8")).toContain(
      '"allowed_hosts": ["other.example.org"]',
    );
  });

  test("leaves the files as they were if Caddy does not run", async () => {
    const { code, stderr } = await expose(`localhost:${port}`, "-apply", "-internal");
    expect([code, stderr]).toEqual([1, expect.stringContaining("Caddy does not run")]);
    expect(await files()).toEqual(["Caddyfile"]);
  });

  test("leaves a Caddyfile with other sites alone", async () => {
    const foreign = join(folder, "Foreign");
    const text = ":8080 {\n\trespond hello\n}\n";
    await writeFile(foreign, text);
    const { code, stderr } = await expose(`localhost:${port}`, "-apply", "-caddyfile", foreign);
    expect([code, stderr]).toEqual([1, expect.stringContaining("import doorward.caddy")]);
    expect(await readFile(foreign, "utf8")).toBe(text);
  });

  test.each(["https://door.example.org", "door_example", "192.0.2.1", "a..b", "x:99999"])(
    "rejects %s as a host name",
    async (name) => {
      const { code, stderr } = await expose(name, "-apply");
      expect([code, stderr]).toEqual([2, expect.stringContaining("is not a host name")]);
    },
  );

  test("names a site of the same name", async () => {
    const own = await readFile(caddyfile, "utf8");
    await writeFile(caddyfile, `${own}localhost:${port} {\n\trespond hello\n}\n`);
    const { code, stderr } = await expose(`localhost:${port}`, "-apply", "-internal");
    await writeFile(caddyfile, own);
    expect([code, stderr]).toEqual([1, expect.stringContaining("Another site of")]);
    expect(await files()).toEqual(["Caddyfile"]);
  });

  test("ends with a check that passes, and keeps comments", async () => {
    await startCaddy();
    const ca = join(folder, "storage", "pki", "authorities", "local", "root.crt");
    const words = ["-apply", "-internal", "-quick", "-ca", ca, "-json"];
    const { code, stdout, stderr } = await expose(`localhost:${port}`, ...words);
    const { checks } = JSON.parse(stdout) as { checks: { id: string; result: string }[] };
    expect([checks.filter(({ result }) => result !== "ok"), code]).toEqual([[], 0]);
    expect(checks.map(({ id }) => id)).toContain("public-websocket");
    expect(stderr).toContain("trust the proxy");
    const text = await readFile(join(launcher.home, "launcher-config.json"), "utf8");
    expect(text).toContain('"_comment": "Mine: stays.",\n     "session_days"  :  3,');
    expect(text).toMatch(/"allowed_hosts": \[\s*"other.example.org",\s*"localhost"\s*\]/);
    expect(text).toMatch(/"trusted_proxies": \[\s*"127.0.0.1"\s*\]/);
    expect(await readFile(join(launcher.home, "config.json"), "utf8")).toContain(
      `"public_url": "https://localhost:${port}"`,
    );
  });

  test("changes nothing when it runs again", async () => {
    const path = join(launcher.home, "launcher-config.json");
    const before = await readFile(path, "utf8");
    const words = ["-apply", "-internal", "-quick"];
    const { code } = await expose(`localhost:${port}`, ...words);
    expect([code, await readFile(path, "utf8")]).toEqual([0, before]);
  });

  test("serves the chat over https, with WebSocket and upload", async (context) => {
    skipWithoutBrowser(context);
    if (!hasBrowser) return;
    await using browser = await launchBrowser();
    const visitor = await browser.newContext({ ignoreHTTPSErrors: true });
    const page = await visitor.newPage();
    await page.goto(`https://localhost:${port}/login`);
    await page.getByLabel("Launcher token", { exact: true }).fill(launcher.token!);
    await page.keyboard.press("Enter");
    await page.getByText("Live", { exact: true }).waitFor();
    const cookies = await visitor.cookies();
    expect(cookies.find(({ name }) => name.startsWith("__Host-"))).toMatchObject({
      secure: true,
      httpOnly: true,
    });
    await page.goto(`https://localhost:${port}/chat#exposed`);
    await page.getByText("Connected", { exact: true }).waitFor();
    const stored = page.waitForResponse(
      (response) => response.url().includes("/api/media") && response.status() === 201,
    );
    await page
      .locator('input[type="file"]')
      .first()
      .setInputFiles({
        name: "note.txt",
        mimeType: "text/plain",
        buffer: Buffer.alloc(3_000_000, "a line of the note\n"),
      });
    await stored;
    await page.getByLabel("Message", { exact: true }).fill("over https");
    await page.keyboard.press("Enter");
    await page.locator(".msg:not(.mine)").getByText("over https").waitFor();
    await visitor.close();
  });
});
