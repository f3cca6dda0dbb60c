// {"client":"AI SDK 5 (useChat)","protocol":"ai_sdk","packages":["ai@5.0.277","@ai-sdk/react@2.0.280","react@19"]}
import { converse } from "./use-chat.mjs";

await converse();
