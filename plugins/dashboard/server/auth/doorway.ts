/** Sends the pages of sign-in and setup. @module */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { DashboardContext } from "../context.ts";
import { documentFacts, sendPage } from "../reply.ts";
import { requestState } from "../request.ts";
import { renderDoorway, type DoorwayData } from "../../pages/render.tsx";
import { hostName } from "./guard.ts";

const titles = { "sign-in": "Sign in", setup: "Choose the token for this dashboard" } as const;

interface DoorwayAnswer<K extends keyof typeof titles> {
  readonly page: K;
  readonly status: number;
  readonly data: Omit<DoorwayData[K], "ways">;
}

/** Sends a page that needs no sign-in. */
export function sendDoorway<K extends keyof typeof titles>(
  { site }: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { page, status, data }: DoorwayAnswer<K>,
): FastifyReply {
  const facts = {
    ...documentFacts(site, request),
    title: titles[page],
    host: hostName(site.privateHost.plainHost(requestState(request).peer)),
  };
  const whole = { ...data, ways: site.tokenHints() } as DoorwayData[K];
  return sendPage(reply, status, renderDoorway(page, facts, whole));
}
