// Unpacks Debian packages of another architecture or release into a folder. The system stays as it is:
// apt keeps its lists in a folder of its own.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const sources = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"];

const output = (command, ...args) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();

/** @returns The mirror of this machine. */
function mirror() {
  const file = sources.find((one) => existsSync(one));
  const text = file === undefined ? "" : readFileSync(file, "utf8");
  const [, found] = /^(?:URIs:|deb .*?) *(https?:\/\/\S+)/m.exec(text) ?? [];
  if (found === undefined) throw new Error("apt has no mirror of Debian");
  return found;
}

/** Downloads packages, without those that they depend on, and unpacks them into `target`. */
export function unpackDebian(packages, target, { work, architecture, release = "bookworm" }) {
  const own = path.join(work, "apt");
  for (const folder of ["state/lists/partial", "cache/archives/partial", "parts", "debs"])
    mkdirSync(path.join(own, folder), { recursive: true });
  writeFileSync(path.join(own, "status"), "");
  const keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
  const list = path.join(own, "sources.list");
  writeFileSync(list, `deb [signed-by=${keys}] ${mirror()} ${release} main\n`);
  const settings = {
    "Dir::State": path.join(own, "state"),
    "Dir::State::status": path.join(own, "status"),
    "Dir::Cache": path.join(own, "cache"),
    "Dir::Etc::sourcelist": list,
    "Dir::Etc::sourceparts": path.join(own, "parts"),
    "APT::Architecture": architecture,
    "APT::Architectures": architecture,
    "APT::Sandbox::User": "root",
    "Acquire::Retries": "3",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    "Acquire::Languages": "none",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  output("apt-get", ...options, "update", "-q");
  const debs = path.join(own, "debs");
  execFileSync("apt-get", [...options, "download", "-q", ...packages], {
    cwd: debs,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const unpack = `for deb in "$0"/*.deb; do
      dpkg-deb --fsys-tarfile "$deb" | tar --extract --keep-directory-symlink --directory "$1"
    done`;
  mkdirSync(target, { recursive: true });
  output("sh", "-euc", unpack, debs, target);
}
