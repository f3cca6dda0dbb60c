/**
 * `/api/media`: uploads, downloads and lists the files of a session, for pages of the dashboard.
 *
 * @module
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { MediaFiles, ResumableOptions } from "../../../media/index.ts";
import type { FilesView } from "../../shared/file-views.ts";
import { isLiveOwner } from "../auth/guard.ts";
import type { DashboardContext } from "../context.ts";
import { refuse } from "../errors.ts";
import { fileQuery, parseQuery, requestState, type WithId } from "../request.ts";

const channel = "pico";

/** Adds the endpoints if this deployment keeps files. Uploads are not parsed: they are streamed. */
export function mediaRoutes(app: FastifyInstance, context: DashboardContext): void {
  const { media } = context.services;
  if (!media) return;
  void app.register(async (scoped) => {
    scoped.removeAllContentTypeParsers();
    scoped.addContentTypeParser("*", (_request, _payload, done) => done(null));
    uploadRoute(scoped, context, media);
  });
  const url = (id: string): string => context.site.url(`/api/media/${id}`);

  app.get("/api/media", async (request, reply) => {
    const { session } = parseQuery(fileQuery, request);
    const files = await media.list({ channel, session });
    const view: FilesView = { files: files.map((file) => media.view(file, url(file.id))) };
    return reply.send(view);
  });

  app.get("/api/media/:id", async (request: WithId, reply) => {
    if (media.isResumable(request.raw))
      return resume(context, media, request.params.id, { request, reply });
    const file = await media.get(request.params.id);
    if (file?.channel !== channel) throw refuse("not_found");
    const hold = (bytes: number) => context.http.holdResponse(reply.raw, bytes);
    // After a sign-out, nothing that was looked at is left in the cache of the browser.
    const headers = { "Cache-Control": "no-store" };
    await media.send(file, request.raw, reply.raw, { hold, headers });
    reply.hijack(); // the response was written to the socket
    return reply;
  });
}

function uploadRoute(app: FastifyInstance, context: DashboardContext, media: MediaFiles): void {
  app.post("/api/media", async (request, reply) => {
    const { session } = parseQuery(fileQuery, request);
    const address = { channel, session };
    if (media.isResumable(request.raw)) return resume(context, media, address, { request, reply });
    return closingUnread(request, reply, async () => {
      const file = await media.receive(request.raw, { address, ...senderOf(context, request) });
      const url = context.site.url(`/api/media/${file.id}`);
      return reply.code(201).send(media.view(file, url));
    });
  });
  for (const method of ["PATCH", "DELETE"] as const)
    app.route({
      method,
      url: "/api/media/:id",
      handler: (request: WithId, reply) =>
        resume(context, media, request.params.id, { request, reply }),
    });
}

const senderOf = (context: DashboardContext, request: FastifyRequest) => ({
  sender: "owner",
  key: requestState(request).peer.key,
  isCurrent: () => isLiveOwner(context.auth, request),
});

/** A resumable upload: see `MediaFiles.resume`. */
function resume(
  context: DashboardContext,
  media: MediaFiles,
  target: ResumableOptions["target"],
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  return closingUnread(request, reply, async () => {
    const { status, headers, body } = await media.resume(request.raw, {
      target,
      ...senderOf(context, request),
      mayUse: (address) => address.channel === channel,
      url: (id) => context.site.url(`/api/media/${id}`),
    });
    closeUnread(request, reply);
    return reply.code(status).headers(headers).send(body);
  });
}

async function closingUnread(
  request: FastifyRequest,
  reply: FastifyReply,
  run: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await run();
  } catch (error) {
    closeUnread(request, reply);
    throw error;
  }
}

/** The rest of the body would have to be read before the next request. */
function closeUnread({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (!raw.complete) void reply.header("connection", "close");
}
