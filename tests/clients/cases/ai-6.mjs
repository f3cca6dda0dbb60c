// {"client":"AI SDK 6 (useChat)","protocol":"ai_sdk","packages":["ai@6.0.326","@ai-sdk/react@3.0.327","react@19"]}
import { converse } from "./use-chat.mjs";

await converse();
