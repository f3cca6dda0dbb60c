// `doorward open`: opens the dashboard of the running launcher with a sign-in link.
import { isRemote, sshTunnelCommand } from "../desktop.ts";
import { createSignInPages } from "../sign-in-page.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askLauncher, reportNotRunning, reportRejected } from "./control-client.ts";

interface Link {
  readonly url: string;
  readonly copyUrl: string;
  /** The same link on the private host name, where other local programs do not get the cookie. */
  readonly privateUrl?: string;
  readonly expiresAt: number;
}

/** Opens the link through a private page, which the launcher removes after the sign-in. */
export async function open(context: CommandContext): Promise<number> {
  if (context.words.length > 0)
    throw new UsageError('"open" takes only options: doorward open -print');
  const answer = await askLauncher<Link>(context, "POST", "links");
  if (!answer) return reportNotRunning(context);
  if (answer.status !== 200) return reportRejected(context, answer.body);
  const { url, copyUrl, privateUrl = url, expiresAt } = answer.body;
  if (context.json)
    printJson(context, { url: copyUrl, expiresAt: new Date(expiresAt).toISOString() });
  const opened =
    !context.json &&
    context.values["print"] !== true &&
    (await createSignInPages(context).open(new URL(privateUrl)));
  if (opened)
    context.say("your browser was opened; if it shows an error, run: doorward open -print\n");
  else if (!context.json) {
    context.out(`${copyUrl}\n`);
    context.say("valid once, for 5 minutes\n");
    if (isRemote(context.env))
      context.say(`on your own machine, run first: ${sshTunnelCommand(new URL(url))}\n`);
  }
  return exitCodes.done;
}
