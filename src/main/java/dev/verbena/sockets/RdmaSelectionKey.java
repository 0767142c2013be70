package dev.verbena.sockets;

import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.spi.AbstractSelectionKey;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A key of {@link RdmaSelector}, for a channel of this package or one of the JDK. */
final class RdmaSelectionKey extends AbstractSelectionKey {
    static final int NONE = -1;

    private final RdmaSelector selector;
    private final SelectableChannel channel;

    /** The channel's readiness; null for a channel of the JDK. */
    final @Nullable Readiness readiness;

    /** The key of the JDK's selector; null for a channel of this package. */
    @Nullable
    SelectionKey inner;

    /** The place among the selector's channels. The selector alone uses this, and the next four. */
    int place = NONE;

    /** The descriptor that the selector waits at. */
    int eventNumber = NONE;

    /** True if the next look is at this key too. */
    boolean toLook;

    /** True if the kernel has reported an event of the descriptor since the selector asked for one. */
    boolean reported;

    /** The operations that the last look found ready. */
    int found;

    /** True while no descriptor tells events of the channel: the selection looks after short pauses. */
    volatile boolean watched;

    /** True while the selector has the key in its list of changes, whose lock guards this. */
    boolean listed;

    volatile boolean released;
    private volatile int interest;
    private volatile int ready;

    RdmaSelectionKey(RdmaSelector selector, SelectableChannel channel, @Nullable Readiness readiness) {
        this.selector = selector;
        this.channel = channel;
        this.readiness = readiness;
    }

    @Override
    public SelectableChannel channel() {
        return channel;
    }

    @Override
    public RdmaSelector selector() {
        return selector;
    }

    @Override
    public int interestOps() {
        checkValid();
        return interest;
    }

    @Override
    public SelectionKey interestOps(int ops) {
        checkValid();
        if ((ops & ~channel.validOps()) != 0) {
            throw new IllegalArgumentException(
                    "operations " + ops + " of a channel with operations " + channel.validOps());
        }
        interest = ops;
        selector.interestChanged(this);
        return this;
    }

    @Override
    public int readyOps() {
        checkValid();
        return ready;
    }

    private void checkValid() {
        if (!isValid()) {
            throw new CancelledKeyException();
        }
    }

    /** Returns the readiness of a channel of this package. */
    Readiness ours() {
        return Objects.requireNonNull(readiness);
    }

    int interest() {
        return interest;
    }

    int ready() {
        return ready;
    }

    void ready(int ops) {
        ready = ops;
    }

    @Override
    public String toString() {
        return "channel=" + channel + (isValid() ? ", interestOps=" + interest + ", readyOps=" + ready : ", invalid");
    }
}
