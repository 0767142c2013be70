package dev.verbena.sockets;

import dev.verbena.internal.Mutex;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketOption;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.Channel;
import java.nio.channels.ClosedChannelException;
import org.jspecify.annotations.Nullable;

/** What a socket channel and a server channel have in common: the rsocket, its address and its options. */
final class ChannelSocket {
    final SocketDescriptor descriptor;
    final Readiness readiness;
    final AddressRules rules;

    /** Held while the state of the channel changes. */
    final Mutex lock = new Mutex();

    private final Channel channel;
    private final OptionTable options;
    private volatile @Nullable InetSocketAddress local;

    ChannelSocket(Channel channel, AddressRules rules, OptionTable options, Readiness readiness) {
        this.channel = channel;
        this.rules = rules;
        this.options = options;
        this.readiness = readiness;
        this.descriptor = readiness.descriptor;
    }

    void checkOpen() throws ClosedChannelException {
        if (!channel.isOpen()) {
            throw new ClosedChannelException();
        }
    }

    @Nullable
    InetSocketAddress local() {
        return local;
    }

    /** Notes the address that C has given the rsocket. */
    void noteAddress() {
        local = descriptor.localAddress();
    }

    /** A step of binding. Returns 0 or an error number. */
    interface Step {
        int take() throws IOException;
    }

    /** Binds to an address, and listens there if there is another step. The caller holds the lock. */
    void bind(InetSocketAddress to, @Nullable Step listen) throws IOException {
        checkOpen();
        if (local != null) {
            throw new AlreadyBoundException();
        }
        descriptor.enter();
        try {
            check("rbind", to, descriptor.bind(to));
            if (listen != null) {
                check("rlisten", to, listen.take());
            }
            noteAddress();
        } finally {
            descriptor.leave();
        }
    }

    private static void check(String function, InetSocketAddress address, int errno) throws IOException {
        if (errno != 0) {
            throw SocketFailures.bind(function, address, errno);
        }
    }

    /** Sets an option that was checked. */
    <T> void setOption(SocketOption<T> name, T value) throws IOException {
        options.check(name, value);
        try (var _ = lock.held()) {
            checkOpen();
            descriptor.enter();
            try {
                options.set(descriptor, name, value);
            } finally {
                descriptor.leave();
            }
        }
    }

    @SuppressWarnings("unchecked") // the table has the options' types
    <T> T getOption(SocketOption<T> name) throws IOException {
        options.check(name);
        try (var _ = lock.held()) {
            checkOpen();
            descriptor.enter();
            try {
                return (T) options.get(descriptor, name);
            } finally {
                descriptor.leave();
            }
        }
    }

    /** Closes the rsocket when nobody uses it, and wakes the threads that wait in these directions. */
    void close(Waiter... waiters) {
        descriptor.close();
        for (Waiter waiter : waiters) {
            waiter.wake();
        }
        readiness.changed();
    }
}
