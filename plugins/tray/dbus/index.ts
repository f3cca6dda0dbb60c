export { busDaemon, openBus, type Bus, type BusOptions, type Place } from "./bus.ts";
export type { Message } from "./message.ts";
export { Refusal, type Interface, type Objects } from "./objects.ts";
export { variant, type Value, type Variant } from "./signature.ts";
