// Starts the built launcher under the Node that runs this file, requests /healthz and stops it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { dashboardAddress } from "./banner.mjs";

const program = fileURLToPath(new URL("../dist/bin/doorward.js", import.meta.url));
const home = await mkdtemp(path.join(tmpdir(), "doorward-smoke-"));
const launcher = spawn(process.execPath, [program, "-console", "-no-browser", "-port", "0"], {
  env: { ...process.env, SERVICE_HOME: home },
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const address = await dashboardAddress(launcher);
  const answer = await fetch(new URL("/healthz", address));
  if (answer.status !== 200) throw new Error(`/healthz answered ${answer.status}`);
  launcher.kill("SIGTERM");
  const [code, signal] = await once(launcher, "exit");
  if (code !== 0) throw new Error(`the launcher ended with ${signal ?? `exit code ${code}`}`);
  console.log(`started, answered and stopped under Node ${process.version}`);
} finally {
  launcher.kill("SIGKILL");
  await rm(home, { recursive: true, force: true });
}
