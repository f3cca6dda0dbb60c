/**
 * Re-exports the web framework. The build replaces this module by a bundle of these packages: no
 * version of Fastify 5 can be installed with strict engine checks on Node 20. @module
 */
export { default as cookie } from "@fastify/cookie";
export { default as fastify } from "fastify";
