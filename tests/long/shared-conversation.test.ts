// Compares what the participants of a conversation see, over many schedules.
import { sharedConversations } from "../conformance/shared-conversation.ts";
import { rounds } from "../support/runs.ts";

sharedConversations(rounds(60));
