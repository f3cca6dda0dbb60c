// `doorward unblock [IP]`: removes the block after too many wrong tokens.
import { isIP } from "node:net";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askLauncher, reportNotRunning, reportRejected } from "./control-client.ts";

const reach =
  "This reached the launcher of this home. Other nodes that share the store have blocks of their " +
  "own, which end after a minute.";

export async function unblock(context: CommandContext): Promise<number> {
  const [address, ...more] = context.words;
  if (more.length > 0 || (address !== undefined && isIP(address) === 0)) {
    throw new UsageError('"unblock" takes at most one IP address');
  }
  const answer = await askLauncher<{ readonly nodes: number }>(
    context,
    "POST",
    "unblock",
    address === undefined ? {} : { address },
  );
  if (!answer) return reportNotRunning(context);
  if (answer.status !== 200) return reportRejected(context, answer.body);
  if (context.json) printJson(context, answer.body);
  else {
    context.say(`unblocked: ${address ?? "all addresses"}\n`);
    if (answer.body.nodes > 1) context.say(`${reach}\n`);
  }
  return exitCodes.done;
}
