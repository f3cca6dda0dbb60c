// Runs the compose files of docs/deploy with Podman. No image is pulled from a registry: those of
// Node, Redis and nginx contain the programs of this machine. Everything runs in a network and a
// process namespace of its own, so that all containers end with this program.
//
//   node .ci/compose.mjs [PODMAN-COMPOSE]     the path of podman-compose 1.2 or newer
//
// The step is skipped with the reason if root or one of the programs is missing.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { checkNodes, checkOpenWebui, checkSingle } from "./compose-checks.mjs";
import { writeBase } from "./image-base.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const deploy = path.join(root, "docs", "deploy");
const isInside = process.env["INSIDE"] !== undefined;
const work = process.env["INSIDE"] ?? mkdtempSync(path.join(tmpdir(), "doorward-compose-"));
const [, , podmanCompose = "podman-compose"] = process.argv;

const output = (command, ...args) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();

const secrets = {
  STORE_SECRET: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
  PICO_TOKEN: "the-channel-token-of-the-compose-files",
  LAUNCHER_TOKEN: "the-launcher-token-of-the-compose-files",
  OPENAI_TOKEN: "the-openai-token-of-the-compose-files",
};
Object.assign(process.env, secrets, {
  BUILDAH_ISOLATION: "chroot",
  // The image format of Podman has no health check.
  BUILDAH_FORMAT: "docker",
  // Podman starts no timers of systemd: the checks run the health check.
  DISABLE_HC_SYSTEMD: "true",
  PATH: `${work}/bin:${process.env["PATH"]}:/usr/sbin:/sbin`,
});

try {
  const missing = isInside ? undefined : whatIsMissing();
  // Podman does not start before this file exists.
  process.env["CONTAINERS_CONF"] = path.join(work, "containers.conf");
  if (missing !== undefined) console.log(`skipped: needs ${missing}`);
  else if (isInside) await runAll();
  else {
    prepare();
    process.exitCode = await enter();
  }
} finally {
  if (!isInside) {
    spawnSync("umount", ["--recursive", path.join(work, "storage", "overlay")], {
      stdio: "ignore",
    });
    rmSync(work, { recursive: true, force: true });
  }
}

function whatIsMissing() {
  if (process.platform !== "linux" || process.getuid() !== 0) return "root on Linux";
  for (const name of ["podman", "netavark", "catatonit", "nginx", "redis-server"])
    if (!find(name)) return `${name} (Debian: ${name})`;
  const { stdout } = spawnSync(podmanCompose, ["--version"], { encoding: "utf8" });
  const [, minor = 0] = /podman-compose version 1\.(\d+)/.exec(stdout ?? "") ?? [];
  return Number(minor) >= 2 ? undefined : "podman-compose 1.2 (PyPI: podman-compose)";
}

function find(name) {
  const folders = `${process.env["PATH"]}:/usr/lib/podman:/usr/libexec/podman`.split(":");
  return folders.map((folder) => path.join(folder, name)).find((file) => existsSync(file));
}

/** Writes the images, and a `podman` that keeps everything in `work`. */
function prepare() {
  // Without the right to raise limits, containers get those of this process.
  const limits = readFileSync("/proc/self/limits", "utf8");
  const hard = (name) =>
    Math.min(
      4_096,
      Number(new RegExp(`^Max ${name} +\\w+ +(\\d+)`, "m").exec(limits)?.[1] ?? 4_096),
    );
  const [files, processes] = [hard("open files"), hard("processes")];
  writeFileSync(
    path.join(work, "containers.conf"),
    `[containers]
default_ulimits = ["nofile=${files}:${files}", "nproc=${processes}:${processes}"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "${work}/networks"
`,
  );
  const podman = find("podman");
  for (const folder of ["bin", "networks", "compose"]) mkdirSync(path.join(work, folder));
  const place = `--root ${work}/storage --runroot ${work}/run --storage-driver overlay`;
  // The defaults of containers.conf do not apply to services with limits of their own.
  const limited = `--ulimit nofile=${files}:${files} --ulimit nproc=${processes}:${processes}`;
  const wrapper = `#!/bin/sh
case $1 in run | create)
  command=$1
  shift
  set -- "$command" ${limited} "$@"
esac
exec ${podman} ${place} "$@"
`;
  writeFileSync(path.join(work, "bin", "podman"), wrapper, { mode: 0o755 });
  const base = path.join(work, "base");
  writeBase(base, find("nginx"), find("redis-server"));
  mkdirSync(path.join(base, "etc", "nginx", "conf.d"), { recursive: true });
  for (const folder of ["lib/nginx", "log/nginx"])
    mkdirSync(path.join(base, "var", folder), { recursive: true });
  // The images of Redis turn the protected mode off, so that other containers can connect.
  const redis = path.join(base, "usr", "bin", "redis-server");
  renameSync(redis, `${redis}-program`);
  const start = '#!/bin/sh\nexec redis-server-program --protected-mode no "$@"\n';
  writeFileSync(redis, start, { mode: 0o755 });
  mkdirSync(path.join(base, "data"));
  mkdirSync(path.join(base, "run"));
  writeFileSync(
    path.join(base, "etc", "nginx", "nginx.conf"),
    `user root; daemon off; pid /run/nginx.pid; error_log /dev/stderr;
events { worker_connections 256; }
http { include /etc/nginx/conf.d/*.conf; }
`,
  );
  output("tar", "-C", base, "-cf", path.join(work, "base.tar"), ".");
  for (const [name, command, folder] of [
    ["library/node:24-slim", "node", "/"],
    ["library/redis:7", "redis-server", "/data"],
    ["library/nginx:1", "nginx", "/"],
  ]) {
    const changes = ["ENV PATH=/usr/bin", `CMD ["${command}"]`, `WORKDIR ${folder}`];
    const words = changes.flatMap((change) => ["--change", change]);
    output("podman", "import", ...words, path.join(work, "base.tar"), `docker.io/${name}`);
  }
  const npmrc = path.join(work, "npmrc");
  const volumes = ["--volume", `${npmrc}:/root/.npmrc:ro`];
  volumes.push("--volume", `${output("npm", "config", "get", "cache")}:/root/.npm`);
  const settings = ["prefer-offline=true", "audit=false", "fund=false", "update-notifier=false"];
  // The certificates of a proxy that this machine trusts.
  const authorities = process.env["NODE_EXTRA_CA_CERTS"];
  if (authorities !== undefined) {
    settings.push("cafile=/etc/authorities.pem");
    volumes.push("--volume", `${authorities}:/etc/authorities.pem:ro`);
  }
  writeFileSync(npmrc, `${settings.join("\n")}\n`);
  const file = path.join(deploy, "Dockerfile");
  output(
    "podman",
    "build",
    ...volumes,
    "--file",
    file,
    "--tag",
    "docker.io/library/doorward",
    root,
  );
  output("podman", "tag", "docker.io/library/doorward", "localhost/doorward");
  compose("compose.nodes.yml", [`--podman-build-args=${volumes.join(" ")}`], "build");
}

function compose(name, options, ...command) {
  return output(podmanCompose, ...options, "-f", path.join(deploy, name), ...command);
}

/** Runs this file again in namespaces of its own. @returns The exit code. */
async function enter() {
  // crun supports either version of control groups, but not both.
  const script = `
    ip link set lo up
    if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
    exec "$@"`;
  const namespaces = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const own = [process.execPath, fileURLToPath(import.meta.url), podmanCompose];
  const words = [...namespaces, "sh", "-euc", script, "sh", ...own];
  const child = spawn("unshare", words, {
    stdio: "inherit",
    env: { ...process.env, INSIDE: work },
  });
  const [code] = await once(child, "exit");
  return code ?? 1;
}

async function runAll() {
  const files = [
    { name: "compose.yml", services: [], check: checkSingle },
    // This machine has no Open WebUI: a container in its place calls Doorward.
    { name: "compose.open-webui.yml", services: ["doorward"], check: checkOpenWebui },
    { name: "compose.nodes.yml", services: [], check: checkNodes },
  ];
  for (const { name, services, check } of files) {
    compose(name, [], "up", "--no-build", "--detach", ...services);
    try {
      await check({ podman: (...words) => output("podman", ...words), secrets });
    } catch (error) {
      console.log(output("podman", "ps", "--all"));
      const all = output("podman", "ps", "--all", "--quiet").split("\n");
      for (const one of all)
        console.log(spawnSync("podman", ["logs", "--tail", "20", one]).output.join(""));
      throw error;
    } finally {
      compose(name, [], "down", "--volumes", "--timeout", "10");
    }
    console.log(`${name}: passed`);
  }
}
