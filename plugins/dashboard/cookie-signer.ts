/**
 * Re-exports the signer of cookies without the web framework, which loads later. The build replaces
 * this module by a bundle. @module
 */
export { Signer } from "@fastify/cookie";
