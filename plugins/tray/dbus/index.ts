// Entry point of the D-Bus client.
export { busDaemon, openBus, type Bus, type BusOptions, type BusTarget } from "./bus.ts";
export type { Message } from "./message.ts";
export { BusError, type Interface } from "./objects.ts";
export { variant, type BusValue, type Variant } from "./codec.ts";
