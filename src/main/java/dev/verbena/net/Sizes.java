package dev.verbena.net;

/** The numbers of requests, buffers and pieces of memory of a channel. */
final class Sizes {
    private Sizes() {}

    /** Returns the number of receives of a channel. If it is sealed, each offer of the peer has one more for its pieces. */
    static int receiveDepth(NodeOptions options) {
        int pieces = options.isSealed() ? options.calls() : 0;
        return options.window() + options.calls() + pieces + Rail.CONTROL_RECEIVES;
    }

    /** Returns the number of sends of a channel. Each call of the peer may need a binding and a reply. */
    static int sendDepth(NodeOptions options) {
        return buffers(options) + options.calls() + options.operations() + Rail.controlSends(options);
    }

    /**
     * Returns the number of buffers to send. If the channel can outlive its connection, the peer's adapter may have
     * acknowledged a window of messages that its program has not received, and a program still gets as many as without.
     */
    static int buffers(NodeOptions options) {
        return options.sends() + options.calls() + (options.heals() ? options.window() : 0);
    }

    /** Returns true if messages are sealed into other memory, so that they can be sealed once more. */
    static boolean sealsCopies(NodeOptions options) {
        return options.heals() && options.isSealed();
    }

    /** Returns the number of pieces of memory of a channel, without those of the greetings. */
    static int pieces(NodeOptions options) {
        return receiveDepth(options) - 1 + (sealsCopies(options) ? 2 : 1) * buffers(options);
    }
}
