import { formatUtc } from "../../lib/util.ts";
import { sanitizeLine } from "../client/text.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askLauncher, reportNotRunning, reportRejected } from "./control-client.ts";

interface Session {
  readonly id: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly address: string;
  readonly userAgent: string;
}

/** `doorward sessions list|revoke ID`. */
export async function sessions(call: CommandContext): Promise<number> {
  const [what = "list", id, ...more] = call.words;
  if (what === "list" && id === undefined) return list(call);
  if (what === "revoke" && id !== undefined && /^[\w-]+$/.test(id) && more.length === 0)
    return revoke(call, id);
  throw new UsageError('"sessions" takes: list, or revoke ID');
}

async function list(call: CommandContext): Promise<number> {
  const answer = await askLauncher<{ sessions: Session[] }>(call, "GET", "sessions");
  if (!answer) return reportNotRunning(call);
  if (answer.status !== 200) return reportRejected(call, answer.body);
  if (call.json) {
    printJson(call, answer.body);
    return exitCodes.done;
  }
  for (const { id, createdAt, lastUsedAt, address, userAgent } of answer.body.sessions) {
    const browser = sanitizeLine(userAgent).slice(0, 120);
    call.out(
      `${id}  since ${formatUtc(createdAt)}  used ${formatUtc(lastUsedAt)}  ${address}  ${browser}\n`,
    );
  }
  if (answer.body.sessions.length === 0) call.say("nobody is signed in\n");
  return exitCodes.done;
}

async function revoke(call: CommandContext, id: string): Promise<number> {
  const answer = await askLauncher(call, "DELETE", `sessions/${id}`);
  if (!answer) return reportNotRunning(call);
  if (answer.status !== 200) return reportRejected(call, answer.body);
  if (call.json) printJson(call, { status: "ok", id });
  else call.say("signed out\n");
  return exitCodes.done;
}
