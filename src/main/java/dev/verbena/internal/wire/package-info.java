/**
 * The bytes that the nodes of {@code dev.verbena.net} exchange: greetings, the header of a message, frames over
 * TCP, seals, and the totals of a connection. It knows nothing of connections.
 */
@NullMarked
package dev.verbena.internal.wire;

import org.jspecify.annotations.NullMarked;
