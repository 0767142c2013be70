package dev.verbena.sockets;

import dev.verbena.Rdma;
import dev.verbena.RdmaUnavailableException;
import dev.verbena.internal.JdkSelectorProvider;
import java.io.IOException;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.nio.channels.Channel;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import org.jspecify.annotations.Nullable;

/**
 * A {@code SelectorProvider} whose stream channels are RDMA sockets. The option
 * {@code -Djava.nio.channels.spi.SelectorProvider=dev.verbena.sockets.RdmaSelectorProvider} of {@code java} makes all
 * stream channels of a program RDMA sockets. The program needs no change.
 *
 * <p>Datagram channels, pipes, inherited channels and Unix domain sockets are those of the JDK. A selector of this provider
 * takes both kinds of channels. A selector of the JDK does not take RDMA sockets. If the option above is used, these other
 * channels also need {@code --add-exports java.base/sun.nio.ch=ALL-UNNAMED}: without it, to open one throws an
 * {@code UnsupportedOperationException} that says so. Programs that get the provider otherwise don't need it.
 *
 * <p>The class {@code java.net.Socket} does not ask a provider: {@code new Socket()} stays a TCP socket. See
 * {@link RdmaSockets#openSocket}.
 *
 * <p>All threads may use a provider at once.
 */
public final class RdmaSelectorProvider extends SelectorProvider {
    private static final class Shared {
        static final RdmaSelectorProvider PROVIDER = new RdmaSelectorProvider();
    }

    private volatile @Nullable SelectorProvider jdk;

    /** Makes a provider. The JDK calls this constructor by name. */
    public RdmaSelectorProvider() {}

    /** Returns the provider of {@link RdmaSockets}. */
    static RdmaSelectorProvider shared() {
        return Shared.PROVIDER;
    }

    /** Returns the provider of the channels that are not RDMA sockets. */
    SelectorProvider jdkProvider() {
        SelectorProvider known = jdk;
        if (known == null) {
            SelectorProvider configured = SelectorProvider.provider();
            jdk = known = configured instanceof RdmaSelectorProvider ? JdkSelectorProvider.get() : configured;
        }
        return known;
    }

    private static void requireLibrary() {
        try {
            Rdma.requireConnectionManager();
        } catch (RdmaUnavailableException e) {
            throw new UnsupportedOperationException(e.getMessage(), e);
        }
    }

    private static AddressRules rules(ProtocolFamily family) {
        return switch (family) {
            case StandardProtocolFamily.INET -> AddressRules.FOUR;
            case StandardProtocolFamily.INET6 -> AddressRules.SIX;
            default -> throw new UnsupportedOperationException("Protocol family not supported: " + family);
        };
    }

    @Override
    public DatagramChannel openDatagramChannel() throws IOException {
        return jdkProvider().openDatagramChannel();
    }

    @Override
    public DatagramChannel openDatagramChannel(ProtocolFamily family) throws IOException {
        return jdkProvider().openDatagramChannel(family);
    }

    @Override
    public Pipe openPipe() throws IOException {
        return jdkProvider().openPipe();
    }

    @Override
    public @Nullable Channel inheritedChannel() throws IOException {
        return jdkProvider().inheritedChannel();
    }

    @Override
    public AbstractSelector openSelector() throws IOException {
        requireLibrary();
        return new RdmaSelector(this);
    }

    @Override
    public ServerSocketChannel openServerSocketChannel() throws IOException {
        requireLibrary();
        return new RdmaServerSocketChannel(this, AddressRules.ANY);
    }

    @Override
    public ServerSocketChannel openServerSocketChannel(ProtocolFamily family) throws IOException {
        if (family == StandardProtocolFamily.UNIX) {
            return jdkProvider().openServerSocketChannel(family);
        }
        AddressRules rules = rules(family);
        requireLibrary();
        return new RdmaServerSocketChannel(this, rules);
    }

    @Override
    public RdmaSocketChannel openSocketChannel() throws IOException {
        requireLibrary();
        return new RdmaSocketChannel(this, AddressRules.ANY);
    }

    @Override
    public SocketChannel openSocketChannel(ProtocolFamily family) throws IOException {
        return family == StandardProtocolFamily.UNIX
                ? jdkProvider().openSocketChannel(family)
                : openRdmaSocketChannel(family);
    }

    RdmaSocketChannel openRdmaSocketChannel(ProtocolFamily family) throws IOException {
        AddressRules rules = rules(family);
        requireLibrary();
        return new RdmaSocketChannel(this, rules);
    }
}
