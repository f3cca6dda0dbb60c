// npm run bench [part ...]: what a start, an idle launcher, an installation, a sign-in and a handshake cost, and what
// the same costs in the bare libraries. Each comparison is interleaved in one run: the ratios are what can be compared.
import { measureEcho } from "./echo.mjs";
import { measureFootprint } from "./footprint.mjs";
import { measureHandshakes } from "./handshakes.mjs";
import { measureLogins } from "./logins.mjs";
import { measureMemory, measureStart } from "./start.mjs";
import { table } from "./report.mjs";

const parts = {
  start: measureStart,
  memory: measureMemory,
  installed: measureFootprint,
  logins: measureLogins,
  handshakes: measureHandshakes,
  echo: measureEcho,
};
const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0) {
  console.error(`no benchmark is called ${unknown.join(", ")}; there are: ${Object.keys(parts).join(", ")}`);
  process.exit(2);
}

/** @type {import("./report.mjs").Row[]} */
const rows = [];
for (const [name, measure] of Object.entries(parts)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  process.stderr.write(`${name} ...\n`);
  rows.push(...(await measure()));
}
console.log(`Node ${process.version}, ${process.platform} ${process.arch}\n\n${table(rows)}`);
