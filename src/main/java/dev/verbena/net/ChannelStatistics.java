package dev.verbena.net;

/** Counters of a {@link Channel} since it was opened. See {@link Channel#statistics}. */
public final class ChannelStatistics extends Statistics {
    static final ChannelStatistics NONE = new ChannelStatistics(new long[OF_CHANNELS.size()]);

    ChannelStatistics(long... values) {
        super(OF_CHANNELS, values);
    }

    ChannelStatistics plus(ChannelStatistics more) {
        long[] sum = values.clone();
        for (int i = 0; i < sum.length; i++) {
            sum[i] += more.values[i];
        }
        return new ChannelStatistics(sum);
    }
}
