// Finds the Bun of `bench/package.json`, whose server is `peers/bun/server.js`.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { succeeds } from "../machine.mjs";

const folder = fileURLToPath(new URL("../node_modules/", import.meta.url));
const platform = `@oven/bun-${process.platform}-${process.arch}`;
/** The install script moves the program to the first place. `npm ci --ignore-scripts` leaves it. */
const places = ["bun/bin/bun.exe", `${platform}/bin/bun`, `${platform}-baseline/bin/bun`];
const server = fileURLToPath(new URL("bun/server.js", import.meta.url));

/** Returns the program and its server. `missingReason` is set if Bun is not installed. */
export function findBun() {
  const program = places
    .map((place) => folder + place)
    .find((file) => existsSync(file) && succeeds(file, ["-v"]));
  return program === undefined
    ? { program: "", server, missingReason: "not installed. Run: npm ci --prefix bench" }
    : { program, server, missingReason: undefined };
}
