// Error table of the conversations.
import { errorTable } from "../../kernel/index.ts";

/** Errors of the conversations service. Compare `error.code`, not the message. */
export const conversationsErrors = errorTable({
  STORE_PATH_MISSING:
    'The setting "store.kind" is "sqlite", and "store.path" is empty. Set a path.',
  STORE_KIND_MISSING:
    'The setting "store.kind" is "redis", and this host has no Redis store. Pass ' +
    "conversations({ redis: configuredRedis(secrets) }) from doorward/plugins/redis.",
  STORE_ORDER:
    "The plugin conversations() must come before channels() and picoServer() in the plugin list.",
  undeliverable:
    "No client is connected to this session, and the session log is full. Send the message again " +
    "after a client has connected.",
  store_unavailable: "The conversations cannot be stored now. Try again shortly.",
  store_busy: "Too many messages wait to be stored. Try again shortly.",
  not_owner: "Another node has taken over this session.",
  forgotten: "The conversation was deleted, so nothing more is added to it.",
  node_gone: "The node that had this session does not answer.",
  not_found: "There is no conversation with this id. List the conversations to find it.",
  not_supported: (action: string, problem?: string) =>
    `This store cannot ${action}. ` +
    (problem ?? 'Set store.kind to "sqlite" to keep conversations on disk.'),
});
