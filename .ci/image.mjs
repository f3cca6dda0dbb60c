// Builds the container image of docs/deploy/Dockerfile and runs it. No image is pulled from a
// registry: buildah builds on a base of the installed Node, npm, dash and coreutils. The image runs
// as its user in namespaces of its own, with a read-only root and without capabilities.
// Without buildah or root, the step is skipped. With CI=true, an installed buildah must work.
//
//   node .ci/image.mjs           the architecture of this machine
//   node .ci/image.mjs arm64     another one, whose programs run in QEMU
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { dashboardAddress } from "./banner.mjs";
import { missingForEmulation, runEmulated } from "./emulation.mjs";
import { writeBase, writeForeignBase } from "./image-base.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const dockerfile = path.join(root, "docs", "deploy", "Dockerfile");
const work = mkdtempSync(path.join(tmpdir(), "doorward-image-"));
const ownArchitecture = { x64: "amd64", arm64: "arm64" }[process.arch];
const [, , architecture = ownArchitecture] = process.argv;
const isEmulated = architecture !== ownArchitecture;
/** True in the namespace in which programs of the other architecture run. */
const isInside = process.env["INSIDE"] === architecture;
/** Copies where overlay mounts are not possible. */
let driver = "overlay";

const output = (command, ...args) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
const storage = () => [
  ...["--storage-driver", driver],
  ...["--root", path.join(work, driver), "--runroot", path.join(work, `${driver}-run`)],
];
const buildah = (...args) => output("buildah", ...storage(), ...args);

process.env["BUILDAH_ISOLATION"] = "chroot";
process.env["PATH"] += ":/usr/sbin:/sbin"; // chroot
try {
  const missing = whatIsMissing();
  if (missing !== undefined) console.log(`skipped: needs ${missing}`);
  else if (isEmulated && !isInside) process.exitCode = await runInside();
  else await buildAndRun();
} catch (error) {
  if (process.env["CI"] === "true") throw error;
  console.log(`skipped: containers do not work here (${error.message})`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Runs this file again where programs of the other architecture run. @returns The exit code. */
async function runInside() {
  const own = [process.execPath, fileURLToPath(import.meta.url), architecture];
  const { code, reason } = await runEmulated(architecture, [
    "env",
    `INSIDE=${architecture}`,
    ...own,
  ]);
  if (reason !== undefined) console.log(`skipped: ${reason}`);
  return code;
}

function whatIsMissing() {
  if (process.platform !== "linux" || process.getuid() !== 0) return "root on Linux";
  const folders = (process.env["PATH"] ?? "").split(":");
  const isThere = folders.some((folder) => existsSync(path.join(folder, "buildah")));
  if (!isThere) return "buildah (Debian: buildah)";
  return isEmulated ? missingForEmulation(architecture) : undefined;
}

async function buildAndRun() {
  commitBases();
  build();
  const config = JSON.parse(buildah("inspect", "--type", "image", "doorward")).Docker.config;
  checkConfig(config);
  const container = buildah("from", "--pull-never", "localhost/doorward");
  try {
    const mounted = buildah("mount", container);
    checkFiles(path.join(mounted, "opt", "doorward"));
    await start(mounted, config);
  } finally {
    buildah("rm", container);
  }
}

/** Writes the base of the image, and the one of this machine that builds it. */
function commitBases() {
  writeBase(path.join(work, ownArchitecture));
  if (isEmulated) writeForeignBase(path.join(work, architecture), work, architecture);
  const all = [...new Set([ownArchitecture, architecture])];
  try {
    for (const one of all) commitBase(one);
  } catch {
    driver = "vfs";
    for (const one of all) commitBase(one);
  }
}

/** buildah 1.28 finds images of the target only, also for the stage that runs on this machine. */
function commitBase(one) {
  const container = buildah("from", "--arch", architecture, "scratch");
  buildah("add", "--quiet", container, path.join(work, one), "/");
  buildah("config", "--arch", architecture, "--env", "PATH=/usr/bin", container);
  buildah("commit", "--quiet", container, `localhost/base-${one}`);
  buildah("rm", container);
}

function build() {
  // npm installed the same packages here, so its cache has them.
  const npmrc = path.join(work, "npmrc");
  writeFileSync(npmrc, "prefer-offline=true\naudit=false\nfund=false\nupdate-notifier=false\n");
  const args = [
    "--platform",
    `linux/${architecture}`,
    "--pull-never",
    "--format",
    "docker",
    "--layers=false",
  ];
  args.push("--build-arg", `NODE_IMAGE=localhost/base-${architecture}`);
  args.push("--build-arg", `BUILD_IMAGE=localhost/base-${ownArchitecture}`);
  args.push("--volume", `${npmrc}:/root/.npmrc:ro`);
  args.push("--volume", `${output("npm", "config", "get", "cache")}:/root/.npm`);
  const log = buildah("build", ...args, "--file", dockerfile, "--tag", "localhost/doorward", root);
  if (/\bwarn\b/i.test(log)) console.log(log);
}

function checkConfig({ User, Healthcheck, StopSignal, Volumes, ExposedPorts }) {
  const found = {
    User,
    StopSignal,
    Volumes: Object.keys(Volumes),
    Ports: Object.keys(ExposedPorts),
  };
  const expected = {
    User: "1000:1000",
    StopSignal: "SIGTERM",
    Volumes: ["/data"],
    Ports: ["18800/tcp"],
  };
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`the image has an unexpected configuration: ${JSON.stringify(found)}`);
  if (Healthcheck?.Test[0] !== "CMD") throw new Error("the image has no health check");
}

/** The files of amd64 are those of arm64: nothing is compiled for a processor. */
function checkFiles(folder) {
  const strange = output(
    "find",
    folder,
    "-name",
    "*.node",
    "-o",
    "-name",
    "*.so",
    "-o",
    "-size",
    "+3M",
  );
  if (strange !== "") throw new Error(`the image contains machine code or large files: ${strange}`);
  for (const name of ["tests", "docs", ".git", "node_modules/vitest", "node_modules/typescript"])
    if (existsSync(path.join(folder, name))) throw new Error(`the image contains ${name}`);
  const kilobytes = Number(output("du", "-sk", folder).split("\t")[0]);
  console.log(`Doorward adds ${Math.round(kilobytes / 1_024)} MiB to the base image (${driver})`);
}

async function start(mounted, { Env, Entrypoint, Healthcheck, User, WorkingDir }) {
  const data = path.join(work, "data");
  const [uid, gid] = User.split(":").map(Number);
  mkdirSync(data, { mode: 0o700 });
  chownSync(data, uid, gid);
  const env = [...Env, `SERVICE_LAUNCHER_PORT=${await freePort()}`];
  const inside = ["chroot", `--userspec=${User}`, "--groups=", mounted];
  inside.push("env", "-i", "-C", WorkingDir, ...env);
  const mounts = `
    mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"
    mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/tmp" && mount --bind "$1" "$0/data"
    mount -t tmpfs -o mode=755 tmpfs "$0/dev"
    for name in null urandom; do : >"$0/dev/$name" && mount --bind "/dev/$name" "$0/dev/$name"; done
    shift && exec setpriv --no-new-privs --inh-caps=-all \\
      --bounding-set=-all,+sys_chroot,+setuid,+setgid "$@"`;
  const namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts"];
  const program = [...inside, ...Entrypoint];
  const launcher = spawn(
    "unshare",
    [...namespaces, "sh", "-euc", mounts, mounted, data, ...program],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(launcher, "exit");
  // The death of unshare ends its child only until the child changes its user.
  const children = `/proc/${launcher.pid}/task/${launcher.pid}/children`;
  let pid;
  try {
    await dashboardAddress(launcher);
    pid = Number(readFileSync(children, "utf8"));
    checkProcess(pid, uid);
    const [health, ...words] = [...inside, ...Healthcheck.Test.slice(1)];
    output(health, ...words);
    process.kill(pid, "SIGTERM");
    const [code, signal] = await ended;
    if (code !== 0) throw new Error(`it ended with ${signal ?? `exit code ${code}`}`);
    if (statSync(path.join(data, "launcher-config.json")).uid !== uid)
      throw new Error("its files belong to another user");
    console.log(
      `${architecture}: built, started without rights, found healthy, and stopped by SIGTERM`,
    );
  } finally {
    if (launcher.exitCode === null && pid !== undefined) process.kill(pid, "SIGKILL");
    launcher.kill("SIGKILL");
    if (launcher.exitCode === null && launcher.signalCode === null) await ended;
  }
}

function checkProcess(pid, uid) {
  const read = (name) => readFileSync(`/proc/${pid}/${name}`, "utf8");
  const status = read("status");
  const facts = {
    "its process 1 is node":
      /^NSpid:.*\t1$/m.test(status) &&
      (isEmulated || readlinkSync(`/proc/${pid}/exe`).endsWith("/node")),
    "it runs Doorward": read("cmdline").includes("\0dist/bin/doorward.js\0"),
    "it runs as its own user": new RegExp(`^Uid:(\\t${uid}){4}$`, "m").test(status),
    "it has no capabilities": /^CapEff:\t0+$/m.test(status),
    "it gains no privileges": /^NoNewPrivs:\t1$/m.test(status),
    "it dumps no core": /^Max core file size +0 +0 /m.test(read("limits")),
    "its root is read-only": /^\S+ \S+ \S+ \S+ \/ ro[, ]/m.test(read("mountinfo")),
  };
  for (const [fact, is] of Object.entries(facts)) if (!is) throw new Error(`not true: ${fact}`);
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
