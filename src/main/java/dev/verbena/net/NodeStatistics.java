package dev.verbena.net;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** Counters of a {@link Node} since it was opened: those of all of its channels, and its own. See {@link Node#statistics}. */
public final class NodeStatistics extends Statistics {
    private static final List<String> NAMES = Stream.concat(
                    OF_CHANNELS.stream(), Stream.of("opened", "ended", "strangers", "pinnedBytes"))
            .toList();

    /**
     * Takes the sum of the counters of the channels, and those of the node.
     *
     * @param handlerFailures the number for all channels, with those that their handlers have closed before
     */
    NodeStatistics(
            ChannelStatistics channels,
            long handlerFailures,
            long opened,
            long ended,
            long strangers,
            long pinnedBytes) {
        super(NAMES, Arrays.copyOf(channels.values, NAMES.size()));
        values[OF_CHANNELS.indexOf("handlerFailures")] = handlerFailures;
        int own = OF_CHANNELS.size();
        values[own] = opened;
        values[own + 1] = ended;
        values[own + 2] = strangers;
        values[own + 3] = pinnedBytes;
    }

    /**
     * Returns the number of channels that were opened.
     *
     * @return the number
     */
    public long opened() {
        return values[16];
    }

    /**
     * Returns the number of these channels that have ended or were closed.
     *
     * @return the number
     */
    public long ended() {
        return values[17];
    }

    /**
     * Returns the number of peers that were refused because they do not know the secret, as in {@link Node#attacks}.
     *
     * @return the number
     */
    public long strangers() {
        return values[18];
    }

    /**
     * Returns the bytes of memory that are registered with the device now, for the node's channels and by the
     * program, but for those {@code ON_DEMAND}; 0 for a node without a device.
     *
     * @return the bytes
     */
    public long pinnedBytes() {
        return values[19];
    }
}
