/** Stands in a snippet, exactly once, where the channel token belongs. Pure. */
export const tokenPlaceholder = "PASTE_CHANNEL_TOKEN";
