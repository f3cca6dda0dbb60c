/**
 * Re-exports the web framework. The build replaces this module by a bundle of its package: no
 * version of Fastify 5 can be installed with strict engine checks on Node 20. @module
 */
export { default as fastify } from "fastify";
