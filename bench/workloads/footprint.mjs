import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { readings } from "../report.mjs";

/** Measures the size of `npm install doorward`, without development dependencies. */
export async function measureFootprint() {
  const project = await mkdtemp(path.join(tmpdir(), "doorward-installed-"));
  const npm = (/** @type {string[]} */ ...args) =>
    execFileSync("npm", args, {
      cwd: project,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  try {
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const [packed] = JSON.parse(npm("pack", root, "--json", "--ignore-scripts"));
    await writeFile(
      path.join(project, "package.json"),
      JSON.stringify({ name: "project", private: true }),
    );
    npm("install", "--no-audit", "--no-fund", "--omit=dev", `./${packed.filename}`);
    const modules = path.join(project, "node_modules");
    console.log(
      readings([
        { what: "package, packed", unit: "MB", values: [packed.size / 1e6] },
        { what: "package, unpacked", unit: "MB", values: [packed.unpackedSize / 1e6] },
        {
          what: "installed, production tree",
          unit: "MB",
          values: [(await bytesIn(modules)) / 1e6],
        },
      ]),
    );
    return [];
  } finally {
    await rm(project, { recursive: true, force: true });
  }
}

/** @param {string} folder @returns {Promise<number>} */
async function bytesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async (file) => (await stat(path.join(file.parentPath, file.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
