// The service as a launch agent of macOS.
import { join } from "node:path";
import { userName } from "../../config/service/findings.ts";
import { escapeMarkup } from "../markup.ts";
import type { ServiceManager, ServiceTarget, Step } from "./description.ts";

function propertyList(label: string, target: ServiceTarget): string {
  const text = (value: string): string => `<string>${escapeMarkup(value)}</string>`;
  const { home, isDefaultHome, node, script, variables } = target;
  const all = { ...(!isDefaultHome && { SERVICE_HOME: home }), ...variables };
  const entries = Object.entries(all).map(
    ([name, value]) => `    <key>${name}</key>\n    ${text(value)}\n`,
  );
  const place =
    entries.length === 0
      ? ""
      : `  <key>EnvironmentVariables</key>
  <dict>
${entries.join("")}  </dict>
`;
  // Umask 63 is octal 077. Core 0: a core dump would contain tokens.
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"
  "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by "doorward service install", which replaces it. Contains no tokens. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  ${text(label)}
  <key>ProgramArguments</key>
  <array>
    ${text(node)}
    ${text(script)}
    <string>-no-browser</string>
  </array>
${place}  <key>RunAtLoad</key>
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
`;
}

/** Runs while the user is signed in at the desktop. */
export function launchd(target: ServiceTarget): ServiceManager {
  const label = `io.github.doorward.${target.name}`;
  const file = join(target.userHome, "Library", "LaunchAgents", `${label}.plist`);
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const service = `${domain}/${label}`;
  const launchctl = (...words: string[]): Step => ({ command: ["launchctl", ...words] });
  const unload: Step = { ...launchctl("bootout", service), mayFail: true };
  const load = launchctl("bootstrap", domain, file);
  return {
    title: "launch agent",
    isExperimental: true,
    file,
    encoding: "utf8",
    content: propertyList(label, target),
    probe: launchctl("print", domain),
    explain: ({ code }) =>
      code === undefined
        ? "The program launchctl was not found. It belongs to macOS; check PATH."
        : "This user has no desktop session. Sign in at the desktop and run the command again.",
    // A service that is loaded cannot be loaded again.
    install: (isChanged) => [
      launchctl("enable", service),
      ...(isChanged ? [unload, load] : [{ ...load, mayFail: true }]),
    ],
    uninstall: [unload],
    query: launchctl("print", service),
    state: ({ code, output }) =>
      code === 0 ? (/^[ \t]*state = (.+)$/m.exec(output)?.[1] ?? "loaded") : undefined,
    user: userName(),
    hint: "The service starts when you sign in at the desktop and stops when you sign out.",
  };
}
