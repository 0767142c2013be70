package dev.verbena.net;

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

    /** Returns the number in a greeting. */
    int code() {
        return ordinal();
    }
}
