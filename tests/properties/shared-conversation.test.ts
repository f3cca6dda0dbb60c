// Compares what the participants of a conversation see, over every form of the store.
import { sharedConversations } from "../conformance/shared-conversation.ts";

sharedConversations(5);
