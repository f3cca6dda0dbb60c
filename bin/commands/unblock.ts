// `doorward unblock [IP]`: removes the block after too many wrong tokens.
import { isIP } from "node:net";
import { UsageError, type CommandContext } from "./command.ts";
import { askAndPrint } from "./control-client.ts";

const reach =
  "This reached the launcher of this home. Other nodes that share the store have blocks of their " +
  "own, which end after a minute.";

export async function unblock(context: CommandContext): Promise<number> {
  const [address, ...more] = context.words;
  if (more.length > 0 || (address !== undefined && isIP(address) === 0)) {
    throw new UsageError('"unblock" takes at most one IP address');
  }
  const body = address === undefined ? {} : { address };
  return askAndPrint<{ nodes: number }>(context, ["POST", "unblock", body], ({ nodes }) => {
    context.say(`unblocked: ${address ?? "all addresses"}\n`);
    if (nodes > 1) context.say(`${reach}\n`);
  });
}
