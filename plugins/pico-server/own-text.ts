/** The same text by itself: one that was cut from another keeps the whole of it, and an address may hold a token. */
export const detachString = (text: string): string => Buffer.from(text).toString();
