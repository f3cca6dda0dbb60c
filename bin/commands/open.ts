import { isRemote, openBrowser, tunnel } from "../desktop.ts";
import { UsageError } from "../usage.ts";
import { exit, printJson, type Call } from "./command.ts";
import { askLauncher, nobodyThere, refused } from "./local.ts";

interface Link {
  readonly url: string;
  readonly copyUrl: string;
  readonly expiresAt: number;
}

/** `doorward open`: the browser gets a one-time link, so that the lasting token is in no history and process list. */
export async function open(call: Call): Promise<number> {
  if (call.words.length > 0) throw new UsageError('"open" takes nothing but -print');
  const answer = await askLauncher<Link>(call, "POST", "links");
  if (!answer) return nobodyThere(call);
  if (answer.status !== 200) return refused(call, answer.body);
  const { url, copyUrl, expiresAt } = answer.body;
  if (call.json) printJson(call, { url: copyUrl, expiresAt: new Date(expiresAt).toISOString() });
  const opened =
    !call.json && call.values["print"] !== true && (await openBrowser(new URL(url), call.env));
  if (opened) call.say("your browser was opened\n");
  else if (!call.json) {
    call.out(`${copyUrl}\n`);
    call.say("good once, within 5 minutes\n");
    if (isRemote(call.env)) call.say(`from your own machine first: ${tunnel(new URL(url))}\n`);
  }
  return exit.done;
}
