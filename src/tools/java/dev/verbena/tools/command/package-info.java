/** The parts that all tools share: the program that runs them, their options, and the TCP connection to a peer. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools.command;
