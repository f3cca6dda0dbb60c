// `doorward open`: shows the dashboard of the running launcher, signed in.
import { isRemote, sshTunnelCommand } from "../desktop.ts";
import { createSignInPages } from "../sign-in-page.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askLauncher, reportNotRunning, reportRejected } from "./control-client.ts";

interface Link {
  readonly url: string;
  readonly copyUrl: string;
  readonly expiresAt: number;
}

/** Opens a one-time link by a private page, which the launcher removes once the link is spent. */
export async function open(call: CommandContext): Promise<number> {
  if (call.words.length > 0) throw new UsageError('"open" takes nothing but -print');
  const answer = await askLauncher<Link>(call, "POST", "links");
  if (!answer) return reportNotRunning(call);
  if (answer.status !== 200) return reportRejected(call, answer.body);
  const { url, copyUrl, expiresAt } = answer.body;
  if (call.json) printJson(call, { url: copyUrl, expiresAt: new Date(expiresAt).toISOString() });
  const opened =
    !call.json &&
    call.values["print"] !== true &&
    (await createSignInPages(call).open(new URL(url)));
  if (opened) call.say("your browser was opened; if it shows an error: doorward open -print\n");
  else if (!call.json) {
    call.out(`${copyUrl}\n`);
    call.say("good once, within 5 minutes\n");
    if (isRemote(call.env))
      call.say(`from your own machine first: ${sshTunnelCommand(new URL(url))}\n`);
  }
  return exitCodes.done;
}
