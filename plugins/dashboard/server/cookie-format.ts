/**
 * Re-exports the format of cookies and of their signatures without the web framework, which loads
 * later. The build replaces this module by a bundle. @module
 */
export { Signer } from "@fastify/cookie";
export { stringifySetCookie } from "cookie";
