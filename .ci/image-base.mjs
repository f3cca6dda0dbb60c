// Writes the parts of a base image that the image of docs/deploy/Dockerfile needs: Node, npm, a
// shell, coreutils and their libraries. Those of this machine are copied; those of another
// architecture come from Debian and from npm.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { unpackDebian } from "./debian-packages.mjs";

const output = (command, ...args) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();

/** Creates the folders that Debian's packages expect. */
function writeFolders(base) {
  for (const folder of ["bin", "lib", "lib64", "sbin"]) {
    mkdirSync(path.join(base, "usr", folder), { recursive: true });
    symlinkSync(path.join("usr", folder), path.join(base, folder));
  }
  for (const folder of ["tmp", "root", "etc", "proc", "dev"]) mkdirSync(path.join(base, folder));
  writeFileSync(
    path.join(base, "etc", "passwd"),
    "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n",
  );
  writeFileSync(path.join(base, "etc", "group"), "root:x:0:\nnode:x:1000:\n");
}

/** Copies Node, npm, dash and coreutils of this machine, and the given programs. */
export function writeBase(base, ...more) {
  writeFolders(base);
  const packaged = output("dpkg-query", "--listfiles", "coreutils", "dash").split("\n");
  const programs = packaged.filter((file) => /^(?:\/usr)?\/bin\/[^/]+$/.test(file));
  const copies = [...programs, ...more].map((file) => [realpathSync(file), path.basename(file)]);
  copies.push([realpathSync(process.execPath), "node"]);
  // Packages of the build load the parts of libc that older programs need, such as librt.
  const libc = output("dpkg-query", "--listfiles", "libc6").split("\n");
  const libraries = new Set(libc.filter((file) => /^(?:\/usr)?\/lib\/.*\.so\.\d+$/.test(file)));
  for (const [file, name] of copies) {
    cpSync(file, path.join(base, "usr", "bin", name));
    for (const [library] of output("sh", "-c", 'ldd "$0" || true', file).matchAll(
      /\/[^ ]+(?= \(0x)/g,
    ))
      libraries.add(library);
  }
  for (const library of libraries) cpSync(realpathSync(library), path.join(base, library));
  const npm = path.dirname(path.dirname(realpathSync(output("which", "npm"))));
  cpSync(npm, path.join(base, "usr", "lib", "npm"), { recursive: true });
  symlinkSync("../lib/npm/bin/npm-cli.js", path.join(base, "usr", "bin", "npm"));
}

/** Downloads Node, dash and coreutils of another architecture. */
export function writeForeignBase(base, work, architecture) {
  writeFolders(base);
  const libraries = ["libc6", "libgcc-s1", "libstdc++6", "libatomic1", "libacl1", "libattr1"];
  const packages = [...libraries, "libselinux1", "libpcre2-8-0", "libgmp10", "dash", "coreutils"];
  unpackDebian(packages, base, { work, architecture });
  // npm refuses to install a package for another processor.
  const name = `node-linux-${architecture}`;
  const packed = output("npm", "pack", "--silent", "--pack-destination", work, `${name}@24`);
  output("tar", "-xf", path.join(work, packed), "-C", work, "package/bin/node");
  cpSync(path.join(work, "package", "bin", "node"), path.join(base, "usr", "bin", "node"));
}
