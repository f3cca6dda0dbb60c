// The service as a scheduled task of Windows.
import { join } from "node:path";
import { userName } from "../../config/service/findings.ts";
import { escapeMarkup } from "../markup.ts";
import type { ServiceManager, ServiceTarget, Step } from "./description.ts";

/** A task without a stored password: it runs with the rights of the signed-in user. */
function task({ node, script, env }: ServiceTarget): string {
  const user = escapeMarkup([env["USERDOMAIN"], env["USERNAME"]].filter(Boolean).join("\\"));
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Doorward: dashboard and pico channel</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <UserId>${user}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>${user}</UserId>
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
      <Command>${escapeMarkup(node)}</Command>
      <Arguments>"${escapeMarkup(script)}" -no-browser</Arguments>
    </Exec>
  </Actions>
</Task>
`;
}

/** Runs from the sign-in of the user. */
export function scheduledTask(target: ServiceTarget): ServiceManager {
  const { env, userHome, name } = target;
  const data = env["LOCALAPPDATA"]?.trim() || join(userHome, "AppData", "Local");
  const file = join(data, "doorward", `${name}.xml`);
  const schtasks = (...words: string[]): Step => ({ command: ["schtasks", ...words] });
  const end: Step = { ...schtasks("/End", "/TN", name), mayFail: true };
  return {
    title: "scheduled task",
    isExperimental: true,
    file,
    encoding: "utf16le",
    content: task(target).replaceAll("\n", "\r\n"),
    explain: () => "The program schtasks was not found. It belongs to Windows; check PATH.",
    install: (isChanged) => [
      ...(isChanged ? [schtasks("/Create", "/TN", name, "/XML", file, "/F"), end] : []),
      schtasks("/Run", "/TN", name),
    ],
    uninstall: [end, { ...schtasks("/Delete", "/TN", name, "/F"), mayFail: true }],
    user: env["USERNAME"] ?? userName(),
    query: schtasks("/Query", "/TN", name),
    state: ({ code }) => (code === 0 ? "registered" : undefined),
    hint: target.isDefaultHome
      ? "The service starts when you sign in."
      : "The service starts when you sign in. A task has no variables of its own, so store the " +
        `home in your account: setx SERVICE_HOME "${target.home}"`,
  };
}
