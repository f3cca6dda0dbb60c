// Runs the built program under an old Node, which must name the required version and exit with 1.
// Usage: node .ci/old-node.mjs PATH_OF_NODE
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../dist/bin/doorward.js", import.meta.url));
const { status, stdout, stderr } = spawnSync(process.argv[2], [program, "version"], {
  encoding: "utf8",
});
if (status !== 1 || stdout !== "" || !/^doorward: Node .* is required; .*\n$/.test(stderr))
  throw new Error(`exit code ${status}, standard output "${stdout}", standard error "${stderr}"`);
console.log(stderr.trim());
