// `doorward sessions list|revoke ID`: lists signed-in browsers and signs one out.
import { formatUtc } from "../../lib/util.ts";
import { sanitizeLine } from "../client/text.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askAndPrint, askLauncher, reportNotRunning, reportRejected } from "./control-client.ts";

interface Session {
  readonly id: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly address: string;
  readonly userAgent: string;
}

export async function sessions(context: CommandContext): Promise<number> {
  const [what = "list", id, ...more] = context.words;
  if (what === "list" && id === undefined) return list(context);
  if (what === "revoke" && id !== undefined && /^[\w-]+$/.test(id) && more.length === 0)
    return revoke(context, id);
  throw new UsageError('"sessions" takes: list, or revoke ID');
}

const list = (context: CommandContext): Promise<number> =>
  askAndPrint<{ sessions: Session[] }>(context, ["GET", "sessions"], (body) => {
    for (const { id, createdAt, lastUsedAt, address, userAgent } of body.sessions) {
      const browser = sanitizeLine(userAgent).slice(0, 120);
      context.out(
        `${id}  since ${formatUtc(createdAt)}  ` +
          `used ${formatUtc(lastUsedAt)}  ${address}  ${browser}\n`,
      );
    }
    if (body.sessions.length === 0) context.say("no browser is signed in\n");
  });

async function revoke(context: CommandContext, id: string): Promise<number> {
  const answer = await askLauncher(context, "DELETE", `sessions/${id}`);
  if (!answer) return reportNotRunning(context);
  if (answer.status !== 200) return reportRejected(context, answer.body);
  if (context.json) printJson(context, { status: "ok", id });
  else context.say("signed out\n");
  return exitCodes.done;
}
