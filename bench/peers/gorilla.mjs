import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { succeeds } from "../machine.mjs";

const folder = fileURLToPath(new URL("gorilla/", import.meta.url));
const program = `${folder}dist/server`;
/** @type {string | undefined | null} */
let reason = null;

/** Builds the Go server once per run. `missingReason` is set if that fails. */
export function buildGorilla() {
  if (reason === null) reason = build();
  return { program, missingReason: reason };
}

function build() {
  if (!succeeds("go", ["version"])) return "the Go toolchain is not installed";
  process.stderr.write("  building the Go server\n");
  try {
    execFileSync("go", ["build", "-o", program, "."], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    return undefined;
  } catch (error) {
    return `go build: ${String(/** @type {{ stderr?: Buffer }} */ (error).stderr ?? error)
      .trim()
      .slice(-300)}`;
  }
}
