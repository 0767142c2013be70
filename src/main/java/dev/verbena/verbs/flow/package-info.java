/** Flow rules: they select the packets that a queue pair receives, and the actions on these packets. */
package dev.verbena.verbs.flow;
