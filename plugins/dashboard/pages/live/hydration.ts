/** Tells components whether they take over what the server has drawn. @module */

export const hydration = { isRunning: false };
