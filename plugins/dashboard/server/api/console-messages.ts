/** Messages of the owner to sessions of channels of other authors. @module */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { codeOf } from "../../../../kernel/index.ts";
import type { Channels } from "../../../channels/index.ts";
import type { Address } from "../../../conversations/contract.ts";
import type { DashboardContext } from "../context.ts";
import { refuse } from "../errors.ts";
import { maxMessageBytes, messageBody, parseBody, type WithId } from "../request.ts";
import type { SentView, StoppedView } from "../../shared/conversation-views.ts";
import { sentenceForSender } from "../../../channels/sender-error.ts";
import { idOf, requireConversations } from "./conversations.ts";
import { requireChannels } from "./questions.ts";

/** How long a response waits for the application. */
const acceptanceMs = 5_000;

/** Codes of errors whose sentences are for people. */
const spokenCodes: readonly string[] = [
  "unsupported",
  "no_application",
  "not_running",
  "stopped",
  "id_reused",
  "application_refused",
  "application_ended",
  "bad_answer",
  "no_answer",
];

function toRejection(error: unknown): unknown {
  const code = codeOf(error);
  if (code.startsWith("store_")) return error;
  const isSpoken = spokenCodes.includes(code);
  const message = isSpoken ? (error as Error).message : sentenceForSender(error);
  return refuse("message_rejected", message === undefined ? {} : { message });
}

interface Target {
  readonly channels: Channels;
  readonly to: Address;
}

async function targetOf({ services }: DashboardContext, request: WithId): Promise<Target> {
  const { channel, session } = await requireConversations(services).get(idOf(request));
  return { channels: requireChannels(services), to: { channel, session } };
}

/**
 * Adds `POST /api/conversations/:id/messages` and `POST /api/conversations/:id/stop`. A repeated
 * message has the same id, so that it counts once.
 */
export function consoleMessageRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { clock } = context.auth;

  /** @returns `pending` if the application has not accepted the message in time. */
  async function send(target: Target, request: FastifyRequest): Promise<SentView> {
    const { id, content } = parseBody(messageBody, request);
    const { channels, to } = target;
    const delivery = channels.deliver(to, { id, content, sender: { id: "owner" } });
    let timer: unknown;
    const pending = new Promise<"pending">((resolve) => {
      timer = clock.setTimeout(() => resolve("pending"), acceptanceMs);
    });
    try {
      return { status: await Promise.race([delivery, pending]) };
    } catch (error) {
      throw toRejection(error);
    } finally {
      clock.clearTimeout(timer);
    }
  }

  app.post(
    "/api/conversations/:id/messages",
    { bodyLimit: maxMessageBytes },
    async (request, reply) => {
      const target = await targetOf(context, request as WithId);
      return reply.send(await send(target, request));
    },
  );

  app.post("/api/conversations/:id/stop", async (request, reply) => {
    const { channels, to } = await targetOf(context, request as WithId);
    const stopped = await channels.stop(to, undefined, { id: "owner" });
    return reply.send({ stopped } satisfies StoppedView);
  });
}
