// Writes the parts of a base image that the image of docs/deploy/Dockerfile needs: Node, npm, a
// shell, coreutils and their libraries. Those of this machine are copied; those of another
// architecture come from Debian and from npm.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";

const debianSources = "/etc/apt/sources.list.d/debian.sources";

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

/**
 * Downloads Node, dash and coreutils of another architecture. The system stays as it is: apt keeps
 * its lists in `work`.
 */
export function writeForeignBase(base, work, architecture) {
  writeFolders(base);
  const own = path.join(work, "apt");
  for (const folder of ["state/lists/partial", "cache/archives/partial", "sources", "debs"])
    mkdirSync(path.join(own, folder), { recursive: true });
  writeFileSync(path.join(own, "status"), "");
  const hasParts = existsSync(debianSources);
  if (hasParts) cpSync(debianSources, path.join(own, "sources", "debian.sources"));
  const settings = {
    "Dir::State": path.join(own, "state"),
    "Dir::State::status": path.join(own, "status"),
    "Dir::Cache": path.join(own, "cache"),
    "Dir::Etc::sourcelist": hasParts ? "/dev/null" : "/etc/apt/sources.list",
    "Dir::Etc::sourceparts": path.join(own, "sources"),
    "APT::Architecture": architecture,
    "APT::Architectures": architecture,
    "APT::Sandbox::User": "root",
    "Acquire::Retries": "3",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    "Acquire::Languages": "none",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  output("apt-get", ...options, "update", "-q");
  const libraries = ["libc6", "libgcc-s1", "libstdc++6", "libatomic1", "libacl1", "libattr1"];
  const packages = [...libraries, "libselinux1", "libpcre2-8-0", "libgmp10", "dash", "coreutils"];
  const debs = path.join(own, "debs");
  execFileSync("apt-get", [...options, "download", "-q", ...packages], {
    cwd: debs,
    stdio: ["ignore", "ignore", "inherit"],
  });
  output(
    "sh",
    "-c",
    'for deb in "$0"/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$1"; done',
    debs,
    base,
  );
  // npm refuses to install a package for another processor.
  const packed = output(
    "npm",
    "pack",
    "--silent",
    "--pack-destination",
    own,
    `node-linux-${architecture}@24`,
  );
  output("tar", "-xf", path.join(own, packed), "-C", own, "package/bin/node");
  const node = path.join(own, "package", "bin", "node");
  cpSync(node, path.join(base, "usr", "bin", "node"));
}
