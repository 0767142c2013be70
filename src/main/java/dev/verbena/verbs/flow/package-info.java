/** Flow rules: which packets a queue pair receives, and what happens to them. */
package dev.verbena.verbs.flow;
