// Conversations in a durable store whose deletions end the answers of their sessions.
import type { ConversationId, DeletionListener } from "../service.ts";
import { StoredConversations } from "./stored.ts";

export class WatchedConversations extends StoredConversations {
  private listener: DeletionListener = () => () => undefined;

  watchDeletions(listener: DeletionListener): void {
    this.listener = listener;
  }

  override async forget(id: ConversationId): Promise<void> {
    const { channel, session } = await this.get(id);
    const ended = this.listener({ channel, session });
    try {
      await super.forget(id);
    } finally {
      ended();
    }
  }
}
