// The service as a unit of the user's own systemd instance.
import { join } from "node:path";
import { isLingering, userName } from "../../config/service/findings.ts";
import type { ServiceManager, ServiceTarget, Step, StepResult } from "./description.ts";

/** A word of a unit file. In arguments, systemd also replaces variables; in the path of a program
 *  and in `Environment=`, it does not. */
function quoted(text: string, isArgument = false): string {
  const plain = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return `"${isArgument ? plain.replaceAll("$", "$$$$") : plain}"`;
}

function unit({ home, isDefaultHome, node, script, variables }: ServiceTarget): string {
  const all = { ...variables, ...(!isDefaultHome && { SERVICE_HOME: home }) };
  const place = Object.entries(all)
    .map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}\n`)
    .join("");
  return `# Written by "doorward service install", which replaces it. Contains no tokens.
[Unit]
Description=Doorward: dashboard and pico channel
Documentation=https://github.com/doorward/doorward#readme
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
${place}ExecStart=${quoted(node)} ${quoted(script, true)} -no-browser
Restart=on-failure
RestartSec=3
# Only the launcher receives SIGTERM. It stops its program after the last reply.
KillMode=mixed
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes
# A core dump would contain tokens.
LimitCORE=0

[Install]
WantedBy=default.target
`;
}

/** Runs from the sign-in of the user to the sign-out, or from boot with lingering. */
export function systemd(target: ServiceTarget): ServiceManager {
  const { env, userHome } = target;
  const config = env["XDG_CONFIG_HOME"]?.trim() || join(userHome, ".config");
  const name = `${target.name}.service`;
  const systemctl = (...words: string[]): Step => ({
    command: ["systemctl", "--user", ...words],
  });
  const user = userName();
  const lingers = isLingering(user);
  return {
    title: "systemd user unit",
    isExperimental: false,
    file: join(config, "systemd", "user", name),
    encoding: "utf8",
    content: unit(target),
    probe: systemctl("show", "--property=Version"),
    explain: ({ code }) =>
      code === undefined
        ? "This machine has no systemd. Start doorward with the supervisor of the machine, " +
          "or in a container: docs/deploy.md"
        : `This user has no systemd session. Sign in as ${user} without su or sudo, or run ` +
          `"sudo loginctl enable-linger ${user}" and sign in again. ` +
          "For a service of the whole machine, see docs/deploy.md.",
    install: (isChanged) => [
      systemctl("daemon-reload"),
      systemctl("enable", name),
      systemctl(isChanged ? "restart" : "start", name),
    ],
    uninstall: [systemctl("disable", "--now", name)],
    removed: [systemctl("daemon-reload"), { ...systemctl("reset-failed", name), mayFail: true }],
    query: systemctl("show", name, `--property=${[...properties, "ActiveState"].join(",")}`),
    state(result) {
      const active = valueOf(result, "ActiveState");
      if (active === undefined) return undefined;
      return `${active} (${valueOf(result, "SubState") ?? "unknown"})`;
    },
    history: historyOf,
    log: {
      command: [
        "journalctl",
        ...["--user", "--unit", name, "--lines", "10", "--no-pager", "--output", "short-iso"],
      ],
    },
    user,
    lingers,
    ...(!lingers && {
      hint:
        "The service starts when you sign in and stops when you sign out. To run it from boot " +
        `on: sudo loginctl enable-linger ${user}`,
    }),
  };
}

const properties = ["SubState", "NRestarts", "ActiveEnterTimestamp", "Result", "ExecMainStatus"];

const valueOf = ({ output }: StepResult, key: string): string | undefined =>
  new RegExp(`^${key}=(.+)$`, "m").exec(output)?.[1];

function historyOf(result: StepResult): (readonly [string, string])[] {
  const since = valueOf(result, "ActiveEnterTimestamp");
  const restarts = valueOf(result, "NRestarts");
  const cause = valueOf(result, "Result");
  const code = valueOf(result, "ExecMainStatus");
  return [
    ...(since === undefined ? [] : [["Since", since] as const]),
    ...(restarts === undefined ? [] : [["Restarts", `${restarts} after a failure`] as const]),
    ...(cause === undefined || cause === "success"
      ? []
      : [["Failure", `${cause}${code === undefined ? "" : `, exit code ${code}`}`] as const]),
  ];
}
