// {"client":"AI SDK 7 (useChat)","protocol":"ai_sdk","packages":["ai@7.0.173","@ai-sdk/react@4.0.177","react@19"]}
import { converse } from "./use-chat.mjs";

await converse();
