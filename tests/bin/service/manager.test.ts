import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Step } from "../../../bin/service/description.ts";
import { isInNpxCache, serviceManager, serviceTarget } from "../../../bin/service/manager.ts";
import { findTool } from "../../support/tools.ts";

const analyze = findTool("systemd-analyze");

const env = { HOME: "/home/you" };
const node = "/usr/bin/node";
const script = "/opt/doorward/dist/bin/doorward.js";

const managerOf = (platform: NodeJS.Platform, home: string, more: Record<string, string> = {}) => {
  const all = { ...env, ...more };
  return serviceManager(platform, serviceTarget({ home, env: all, node, script }))!;
};
const lines = (steps: readonly Step[]): string[] => steps.map(({ command }) => command.join(" "));

describe("serviceTarget", () => {
  test("names the service of each other home after its path", () => {
    const names = ["/home/you/.service", "/srv/one", "/srv/two"].map(
      (home) => serviceTarget({ home, env, node, script }).name,
    );
    expect(names).toEqual(["doorward", "doorward-875fb59d", "doorward-f76b606b"]);
  });

  test("rejects a line break in a path", () => {
    expect(() => serviceTarget({ home: "/srv/a\nExecStartPre=b", env, node, script })).toThrow(
      /path with a line break or another control character/,
    );
  });
});

describe("isInNpxCache", () => {
  test.each([
    ["/home/you/.npm/_npx/0123/node_modules/doorward/dist/bin/doorward.js", true],
    ["C:\\npm-cache\\_npx\\0123\\doorward.js", true],
    ["/usr/lib/node_modules/doorward/dist/bin/doorward.js", false],
  ])("recognizes %j", (path, is) => expect(isInNpxCache(path)).toBe(is));
});

describe("serviceManager", () => {
  test("knows no service manager of another system", () => {
    const target = serviceTarget({ home: "/home/you/.service", env, node, script });
    expect(serviceManager("freebsd", target)).toBeUndefined();
  });
});

describe("systemd", () => {
  test("writes the unit of the default home", () => {
    const { file, content } = managerOf("linux", "/home/you/.service");
    expect(file).toBe("/home/you/.config/systemd/user/doorward.service");
    expect(content).toMatchInlineSnapshot(`
      "# Written by "doorward service install", which replaces it. Contains no tokens.
      [Unit]
      Description=Doorward: dashboard and pico channel
      Documentation=https://github.com/doorward/doorward#readme
      StartLimitIntervalSec=60
      StartLimitBurst=5

      [Service]
      ExecStart="/usr/bin/node" "/opt/doorward/dist/bin/doorward.js" -no-browser
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
      "
    `);
  });

  test("gives the service the folders of programs, and none of npm", () => {
    const { content } = managerOf("linux", "/home/you/.service", {
      PATH: "/home/you/.nvm/v22/bin:bin:/p/node_modules/.bin:/a %n $b:/usr/bin:/usr/bin:",
      VIRTUAL_ENV: "/home/you/venv",
      OPENAI_API_KEY: "sk-secret",
    });
    expect(content.match(/^Environment=.*$/gm)).toEqual([
      'Environment="PATH=/home/you/.nvm/v22/bin:/a %%n $b:/usr/bin"',
      'Environment="VIRTUAL_ENV=/home/you/venv"',
    ]);
  });

  test("uses the configuration folder of the user", () => {
    const { file } = managerOf("linux", "/home/you/.service", { XDG_CONFIG_HOME: "/cfg" });
    expect(file).toBe("/cfg/systemd/user/doorward.service");
  });

  test("restarts only for a changed unit", () => {
    const manager = managerOf("linux", "/home/you/.service");
    expect(lines(manager.install(true)).at(-1)).toBe("systemctl --user restart doorward.service");
    expect(lines(manager.install(false)).at(-1)).toBe("systemctl --user start doorward.service");
  });

  test.skipIf(!analyze)("escapes paths for systemd", async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-unit-"));
    try {
      // A program of a unit must not contain quotes and backslashes.
      const program = join(folder, "a %n $HOME b", "node");
      const odd = join(folder, 'a "b" %n $HOME \\c');
      await mkdir(dirname(program));
      const target = serviceTarget({
        home: odd,
        env: { HOME: folder },
        node: program,
        script: join(odd, "doorward.js"),
      });
      const manager = serviceManager("linux", target)!;
      const unit = join(folder, "doorward.service");
      await writeFile(unit, manager.content);
      const verify = () =>
        spawnSync(analyze!, ["verify", "--user", "--man=no", unit], {
          env: { ...process.env, XDG_RUNTIME_DIR: folder },
          encoding: "utf8",
        });
      expect(verify().stderr).toContain(`Command ${program} is not executable`);
      await symlink(process.execPath, program);
      expect(verify()).toMatchObject({ stderr: "", status: 0 });
      expect(manager.content).toContain(String.raw`/a \"b\" %%n $$HOME \\c/doorward.js"`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test.each([
    ["ActiveState=active\nSubState=running\n", "active (running)"],
    ["SubState=dead\nActiveState=inactive\n", "inactive (dead)"],
    ["", undefined],
  ])("reads the state in %j", (output, state) => {
    expect(managerOf("linux", "/srv/one").state({ code: 0, output })).toBe(state);
  });
});

describe("launchd", () => {
  test("writes the launch agent of another home", () => {
    const { file, content } = managerOf("darwin", "/srv/a & <b>");
    expect(file).toMatch(
      /^\/home\/you\/Library\/LaunchAgents\/io\.github\.doorward\.doorward-[0-9a-f]{8}\.plist$/,
    );
    expect(content).toMatchInlineSnapshot(`
      "<?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"
        "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <!-- Written by "doorward service install", which replaces it. Contains no tokens. -->
      <plist version="1.0">
      <dict>
        <key>Label</key>
        <string>io.github.doorward.doorward-38e3dfc5</string>
        <key>ProgramArguments</key>
        <array>
          <string>/usr/bin/node</string>
          <string>/opt/doorward/dist/bin/doorward.js</string>
          <string>-no-browser</string>
        </array>
        <key>EnvironmentVariables</key>
        <dict>
          <key>SERVICE_HOME</key>
          <string>/srv/a &amp; &lt;b&gt;</string>
        </dict>
        <key>RunAtLoad</key>
        <true/>
        <key>KeepAlive</key>
        <dict>
          <key>SuccessfulExit</key>
          <false/>
        </dict>
        <key>ExitTimeOut</key>
        <integer>30</integer>
        <key>Umask</key>
        <integer>63</integer>
        <key>HardResourceLimits</key>
        <dict>
          <key>Core</key>
          <integer>0</integer>
        </dict>
        <key>SoftResourceLimits</key>
        <dict>
          <key>Core</key>
          <integer>0</integer>
        </dict>
      </dict>
      </plist>
      "
    `);
  });

  test("loads a changed agent again", () => {
    const manager = managerOf("darwin", "/home/you/.service");
    const words = (isChanged: boolean) =>
      manager.install(isChanged).map(({ command }) => command[1]);
    expect(words(true)).toEqual(["enable", "bootout", "bootstrap"]);
    expect(words(false)).toEqual(["enable", "bootstrap"]);
  });
});

describe("scheduledTask", () => {
  test("writes the task of the user", () => {
    const user = { USERDOMAIN: "R&D", USERNAME: "ada" };
    const { content, encoding } = managerOf("win32", "/home/you/.service", user);
    expect(encoding).toBe("utf16le");
    expect(content.replaceAll("\r\n", "\n")).toMatchInlineSnapshot(`
      "<?xml version="1.0" encoding="UTF-16"?>
      <Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
        <RegistrationInfo>
          <Description>Doorward: dashboard and pico channel</Description>
        </RegistrationInfo>
        <Triggers>
          <LogonTrigger>
            <UserId>R&amp;D\\ada</UserId>
          </LogonTrigger>
        </Triggers>
        <Principals>
          <Principal id="Author">
            <UserId>R&amp;D\\ada</UserId>
            <LogonType>InteractiveToken</LogonType>
            <RunLevel>LeastPrivilege</RunLevel>
          </Principal>
        </Principals>
        <Settings>
          <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
          <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
          <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
          <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
          <RestartOnFailure>
            <Interval>PT1M</Interval>
            <Count>5</Count>
          </RestartOnFailure>
        </Settings>
        <Actions Context="Author">
          <Exec>
            <Command>/usr/bin/node</Command>
            <Arguments>"/opt/doorward/dist/bin/doorward.js" -no-browser</Arguments>
          </Exec>
        </Actions>
      </Task>
      "
    `);
  });

  test("names the variable of another home", () => {
    expect(managerOf("win32", "/srv/one").hint).toContain('setx SERVICE_HOME "/srv/one"');
  });
});
