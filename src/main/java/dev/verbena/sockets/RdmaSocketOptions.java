package dev.verbena.sockets;

import java.net.SocketOption;

/**
 * The options that RDMA sockets have beside those of {@link java.net.StandardSocketOptions}. Set them before the channel
 * is connected, or on a server channel before it is bound: accepted channels inherit them.
 *
 * <p>All threads may use the options.
 */
public final class RdmaSocketOptions {
    /** The number of entries of the send queue ({@code RDMA_SQSIZE}), from 1 to 65534. The adapter's limit applies. */
    public static final SocketOption<Integer> RDMA_SQSIZE = new Option("RDMA_SQSIZE");

    /** The number of entries of the receive queue ({@code RDMA_RQSIZE}), from 1 to 65534. The adapter's limit applies. */
    public static final SocketOption<Integer> RDMA_RQSIZE = new Option("RDMA_RQSIZE");

    /**
     * The most bytes that are sent without a copy into registered memory ({@code RDMA_INLINE}), from 0 to 65534. The default
     * is that of the machine. If it has a device whose driver {@linkplain dev.verbena.verbs.Device#ignoresInlineData ignores
     * inline data}, the default is 0, and other values are refused. A connect fails if the driver has less room.
     */
    public static final SocketOption<Integer> RDMA_INLINE = new Option("RDMA_INLINE");

    /** The number of segments that the peer may map ({@code RDMA_IOMAPSIZE}), from 0 to 32767. The default is 0. */
    public static final SocketOption<Integer> RDMA_IOMAPSIZE = new Option("RDMA_IOMAPSIZE");

    private RdmaSocketOptions() {}

    private record Option(String name) implements SocketOption<Integer> {
        @Override
        public Class<Integer> type() {
            return Integer.class;
        }

        @Override
        public String toString() {
            return name;
        }
    }
}
