package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.verbena.internal.Errno;
import dev.verbena.internal.SystemCallException;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OpenFileLimit;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Peers and networks that fail, and limits that are reached: exceptions of the JDK's types, in bounded time. */
@DeviceTest
class SocketFaultsTest {
    private static final int MUCH = 300_000; // more than the buffers of a connection

    private static boolean waits(Thread thread) {
        return Stream.of(thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(Waiter.class.getName())
                        && frame.getMethodName().equals("await"));
    }

    private static Throwable failureOf(FutureTask<?> task) {
        Throwable failure = catchThrowable(() -> task.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS));
        assertThat(failure).isInstanceOf(ExecutionException.class);
        return failure.getCause();
    }

    /** Returns an address on the network of the device that no machine has. */
    private static InetSocketAddress nobody() throws IOException {
        byte[] address = CmAddress.four(0).getAddress().getAddress();
        address[address.length - 1] += 100;
        return new InetSocketAddress(InetAddress.getByAddress(address), 7471);
    }

    @ParameterizedTest
    @CsvSource({"false,false", "true,false", "false,true", "true,true"})
    void closeOrInterruptEndsAConnectUnderWay(boolean virtual, boolean interrupt) throws Exception {
        RdmaSocketChannel client = SocketPair.open();
        FutureTask<Object> connecting = new FutureTask<>(() -> client.connect(nobody()));
        Thread thread = (virtual ? Thread.ofVirtual() : Thread.ofPlatform()).start(connecting);
        Await.until("connecting", () -> waits(thread));
        if (interrupt) {
            thread.interrupt();
        } else {
            client.close();
        }
        assertThat(failureOf(connecting))
                .isInstanceOf(interrupt ? ClosedByInterruptException.class : AsynchronousCloseException.class);
        assertThat(client.isOpen()).isFalse();
    }

    @Test
    void connectOfASocketEndsWithItsTimeout() throws Exception {
        try (RdmaSocketChannel client = SocketPair.open()) {
            assertThatThrownBy(() -> client.socket().connect(nobody(), 100))
                    .isInstanceOf(SocketTimeoutException.class)
                    .hasMessageContaining("Connect timed out");
            assertThat(client.isOpen()).isFalse();
        }
    }

    @Test
    void nonBlockingConnectIsClosedWhileItIsUnderWay() throws Exception {
        RdmaSocketChannel client = SocketPair.open();
        client.configureBlocking(false);
        assertThat(client.connect(nobody())).isFalse();
        assertThat(client.finishConnect()).isFalse();
        client.close();
        assertThatThrownBy(client::finishConnect).isInstanceOf(ClosedChannelException.class);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void writerToAPeerThatNeverReadsEndsWhenThePeerCloses(boolean virtual) throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            FutureTask<Object> writing = new FutureTask<>(() -> {
                while (true) {
                    pair.client.write(ByteBuffer.allocateDirect(MUCH));
                }
            });
            Thread thread = (virtual ? Thread.ofVirtual() : Thread.ofPlatform()).start(writing);
            Await.until("the writer waits", () -> waits(thread));
            pair.accepted.close();
            assertThat(failureOf(writing)).isInstanceOf(SocketException.class);
            assertThat(pair.client.isOpen()).isTrue(); // as with TCP
        }
    }

    /** The server is closed at once: C's own thread may have a connection in its hands. */
    @RepeatedTest(10)
    void closeOfAServerEndsConnectionsThatNobodyAccepted() throws Exception {
        ServerSocketChannel server = SocketPair.listening();
        try (RdmaSocketChannel client = SocketPair.open()) {
            client.connect(server.getLocalAddress());
            server.close();
            assertThat(readLater(client).get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .as("the end of the connection")
                    .isEqualTo(-1);
        } finally {
            server.close();
        }
    }

    private static FutureTask<Integer> readLater(SocketChannel from) {
        FutureTask<Integer> reading = new FutureTask<>(() -> from.read(ByteBuffer.allocate(1)));
        Thread.ofPlatform().daemon().start(reading);
        return reading;
    }

    @Test
    void socketWithoutAFreeDescriptorNamesTheLimit() throws Exception {
        SocketPair.open().close(); // loads the classes, which takes descriptors
        SocketFailures.of("rsocket", Errno.ENOMEM);
        SocketFailures.of("rsocket", Errno.EMFILE);
        Class.forName(SystemCallException.class.getName());
        Throwable failure;
        long most;
        try (OpenFileLimit limit = OpenFileLimit.reached()) {
            most = limit.limit();
            failure = catchThrowable(SocketPair::open);
        }
        assertThat(failure)
                .isInstanceOf(SocketException.class)
                .hasMessageContaining(
                        "This process may have " + most + " open files: raise the limit with 'ulimit -n'");
    }

    @Test
    void ipv6CarriesData() throws Exception {
        byte[] bytes = SocketPair.pattern(MUCH);
        try (ServerSocketChannel server = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET6);
                RdmaSocketChannel client = RdmaSockets.openSocketChannel(StandardProtocolFamily.INET6)) {
            server.bind(CmAddress.six(0));
            client.connect(server.getLocalAddress());
            try (SocketChannel accepted = server.accept()) {
                FutureTask<Integer> writing = new FutureTask<>(() -> client.write(ByteBuffer.wrap(bytes)));
                Thread.ofVirtual().start(writing);
                assertThat(SocketPair.readFully(accepted, ByteBuffer.allocate(MUCH))
                                .array())
                        .isEqualTo(bytes);
                assertThat(writing.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                        .isEqualTo(MUCH);
                assertThat(client.getRemoteAddress()).isEqualTo(server.getLocalAddress());
                assertThat(accepted.getRemoteAddress()).isEqualTo(client.getLocalAddress());
            }
        }
    }
}
