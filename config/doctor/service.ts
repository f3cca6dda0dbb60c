// Doctor check that compares the findings of `doorward service install` with now.
import { access, constants } from "node:fs/promises";
import type { CheckView } from "../../plugins/dashboard/index.ts";
import {
  isLingering,
  readFindings,
  serviceProgram,
  serviceVariables,
  userName,
  type ServiceFindings,
} from "../service/findings.ts";
import { createCheck, type Survey } from "./survey.ts";

const renew = "doorward service install";

const can = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  );

/** Compares the stored findings with the machine. Undefined without a service. */
export async function serviceCheck(found: Survey): Promise<CheckView | undefined> {
  const findings = await readFindings(found.home);
  if (!findings || !(await can(findings.file, constants.F_OK))) return undefined;
  const own = createCheck("service", "The service finds what it starts");
  const { node, script, user, lingers } = findings;
  if (!(await can(node, constants.X_OK)))
    return own.failed(`The service starts Node at ${node}, which is not there any more.`, renew);
  if (!(await can(script, constants.R_OK)))
    return own.failed(`The service starts ${script}, which is not there any more.`, renew);
  const changed = await programChange(findings, found);
  if (changed !== undefined) return own.failed(changed.reason, changed.fix);
  if (userName() !== user)
    return own.warning(
      `The service belongs to ${user}, and this is ${userName()}.`,
      `run the commands as ${user}, or install the service again`,
    );
  if (lingers === true && !isLingering(user))
    return own.warning(
      "The service ran from boot on, and now stops when you sign out.",
      `sudo loginctl enable-linger ${user}`,
    );
  const boot = lingers === undefined ? "" : lingers || isLingering(user) ? fromBoot : untilSignOut;
  return own.ok(`It starts ${node} as ${user}.${boot}`);
}

const fromBoot = " It runs from boot on.";
const untilSignOut = " It stops when you sign out.";

/** Another `python3` may start than in this terminal, or than when it was installed. */
async function programChange(
  { variables, program }: ServiceFindings,
  { home, handler, files, env }: Survey,
): Promise<{ reason: string; fix: string } | undefined> {
  const find = (own: object) =>
    serviceProgram({ home, variables: { ...own }, handler, file: files.config });
  // Without the variables of the service, the check of the program itself has the reason.
  const here = await find(serviceVariables(env)).catch(() => undefined);
  const there = await find(variables).catch((error: Error) => error);
  if (there instanceof Error)
    return here === undefined ? undefined : { reason: there.message, fix: renew };
  if (here !== undefined && there !== here)
    return { reason: `The service starts ${there}, and this terminal starts ${here}.`, fix: renew };
  if (program === undefined || there === undefined || program === there) return undefined;
  const reason = `When the service was installed, it started ${program}. Now it starts ${there}.`;
  return { reason, fix: `${renew}, if that is intended` };
}
