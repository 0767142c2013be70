/**
 * The connections of the nodes of {@code dev.verbena.net}, over RDMA and over TCP, and the carriers that make them. They know
 * nothing of channels: {@link dev.verbena.internal.link.LinkOwner} stands for the one that a connection works for, and {@link
 * dev.verbena.internal.link.LinkHost} for the node. A connection works under its owner's {@link
 * dev.verbena.internal.link.BiasedLock}. Not exported.
 */
@NullMarked
package dev.verbena.internal.link;

import org.jspecify.annotations.NullMarked;
