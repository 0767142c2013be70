package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.link.AutoCarrier;
import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.link.LinkHost;
import dev.verbena.internal.link.LinkOptions;
import dev.verbena.internal.link.RdmaCarrier;
import dev.verbena.internal.link.TcpCarrier;
import java.io.UncheckedIOException;

/** A way for messages and operations to a peer: see {@link NodeOptions#transport(Transport)}. */
public enum Transport {
    /** An RDMA device: the adapters carry out all operations. */
    RDMA,
    /**
     * TCP connections, which need no device and no library of RDMA. A thread of each node takes the part of the adapter: it
     * also reads and writes exported memory for the peers.
     */
    TCP,
    /**
     * {@link #RDMA} for channels whose nodes both have it, else {@link #TCP}. This is a choice for a node. A channel has one
     * of the other two: {@link Channel#transport} tells.
     */
    AUTO;

    /** Opens the carrier of a node. */
    Carrier open(LinkHost node, LinkOptions options, VerbsArena arena) {
        try {
            return switch (this) {
                case RDMA -> RdmaCarrier.open(node, options, arena);
                case TCP -> new TcpCarrier(node, options, arena);
                case AUTO -> AutoCarrier.open(node, options, arena);
            };
        } catch (UncheckedIOException refused) {
            throw new ChannelException(
                    EndReason.FAILED,
                    "node " + IpAddresses.text(options.first()),
                    String.valueOf(refused.getMessage()),
                    refused.getCause());
        }
    }

    /** Returns the number in a greeting. */
    int code() {
        return ordinal();
    }
}
