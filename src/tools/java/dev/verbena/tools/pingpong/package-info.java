/** The ping-pongs: tools that exchange messages with a peer, in Java or in C. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools.pingpong;
