/**
 * `/api/media`: uploads, downloads and lists the files of a session, for pages of the dashboard.
 *
 * @module
 */
import type { FastifyInstance } from "fastify";
import type { MediaFiles } from "../../../media/index.ts";
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
    try {
      const file = await media.receive(request.raw, {
        address: { channel, session },
        sender: "owner",
        key: requestState(request).peer.key,
        isCurrent: () => isLiveOwner(context.auth, request),
      });
      const url = context.site.url(`/api/media/${file.id}`);
      return reply.code(201).send(media.view(file, url));
    } catch (error) {
      // The rest of the body would have to be read before the next request.
      if (!request.raw.complete) void reply.header("connection", "close");
      throw error;
    }
  });
}
