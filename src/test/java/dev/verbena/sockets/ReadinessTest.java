package dev.verbena.sockets;

import static java.nio.channels.SelectionKey.OP_ACCEPT;
import static java.nio.channels.SelectionKey.OP_CONNECT;
import static java.nio.channels.SelectionKey.OP_READ;
import static java.nio.channels.SelectionKey.OP_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.verbena.internal.Waiters;
import dev.verbena.support.Await;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The operations that selectors report, in each state of a channel, beside those of the JDK's channels over TCP. A connect
 * that is refused is in {@link SelectorTest}: over RDMA, it may fail at once.
 */
@DeviceTest
class ReadinessTest {
    private static final SelectorProvider TCP = SelectorProvider.provider();
    private static final SelectorProvider RDMA = RdmaSelectorProvider.shared();
    private static final long TIMEOUT = Loopback.DEADLINE.toMillis();
    private static final int NONE = 0;

    /** A step that leads to a state. */
    private interface Step {
        void take(Ends ends) throws IOException;
    }

    private static final Step SHUT_INPUT = ends -> ends.client.shutdownInput();
    private static final Step SHUT_OUTPUT = ends -> ends.client.shutdownOutput();
    private static final Step PEER_WRITES = ends -> ends.accepted.write(ByteBuffer.allocate(1));
    private static final Step PEER_SHUTS_OUTPUT = ends -> ends.accepted.shutdownOutput();
    private static final Step PEER_CLOSES = ends -> ends.accepted.close();
    private static final Step AWAIT_READABLE = ends -> ends.awaitReady(OP_READ);
    private static final Step TEST_SERVER = ends -> ends.tested = ends.server;

    /** A server, and a client in non-blocking mode. */
    private static final class Ends implements AutoCloseable {
        private final SelectorProvider provider;
        private final ServerSocketChannel server;
        private final SocketChannel client;
        private SocketChannel accepted;
        private SelectableChannel tested;

        Ends(SelectorProvider provider) throws IOException {
            this.provider = provider;
            server = provider.openServerSocketChannel();
            client = provider.openSocketChannel();
            client.setOption(StandardSocketOptions.SO_SNDBUF, SocketPair.BUFFER);
            server.configureBlocking(false);
            client.configureBlocking(false);
            tested = client;
        }

        private void listen() throws IOException {
            server.setOption(StandardSocketOptions.SO_RCVBUF, SocketPair.BUFFER);
            server.bind(new InetSocketAddress(SocketPair.address().getAddress(), 0));
        }

        private void begin() throws IOException {
            listen();
            client.connect(server.getLocalAddress());
        }

        private void connect() throws IOException {
            begin();
            server.configureBlocking(true);
            accepted = server.accept();
            Await.until("connected", client::finishConnect);
        }

        /** Connects to an address that no machine has, and does not wait for the failure. */
        private void connectToNobody() throws IOException {
            byte[] address = SocketPair.address().getAddress().getAddress();
            address[address.length - 1] += 100;
            assertThat(client.connect(new InetSocketAddress(InetAddress.getByAddress(address), 7471)))
                    .isFalse();
        }

        private void fill() {
            ByteBuffer much = ByteBuffer.allocateDirect(1 << 20);
            Await.until("no room", () -> client.write(much.clear()) == 0 && ready(OP_WRITE) == 0);
        }

        private void reset() throws IOException {
            accepted.setOption(StandardSocketOptions.SO_LINGER, 0);
            accepted.close();
        }

        private void readAll() throws IOException {
            accepted.configureBlocking(false);
            ByteBuffer room = ByteBuffer.allocateDirect(1 << 20);
            Await.until("room to write", () -> accepted.read(room.clear()) == 0 && ready(OP_WRITE) != 0);
        }

        /** Returns the operations that a selection reports which does not wait. */
        private int ready(int interest) throws IOException {
            try (Selector selector = provider.openSelector()) {
                SelectionKey key = tested.register(selector, interest);
                selector.selectNow();
                return selector.selectedKeys().contains(key) ? key.readyOps() : NONE;
            }
        }

        /** Returns the operations that a selection reports which waits. */
        private int awaitReady(int interest) throws IOException {
            try (Selector selector = provider.openSelector()) {
                SelectionKey key = tested.register(selector, interest);
                long end = System.nanoTime() + Loopback.DEADLINE.toNanos();
                while (selector.selectedKeys().isEmpty() && System.nanoTime() - end < 0) {
                    selector.select(TIMEOUT);
                }
                return selector.selectedKeys().contains(key) ? key.readyOps() : NONE;
            }
        }

        @Override
        public void close() throws IOException {
            client.close();
            server.close();
            if (accepted != null && accepted.isOpen()) {
                accepted.configureBlocking(false); // the close does not wait for the peer
                accepted.close();
            }
        }
    }

    /** The states, each with the operation that is ready once the channel is in it. */
    private enum State {
        OPEN(NONE),
        PENDING(NONE, Ends::connectToNobody),
        CONNECTED_BEFORE_FINISH(OP_CONNECT, Ends::begin),
        CONNECTED(NONE, Ends::connect),
        WITHOUT_ROOM(NONE, Ends::connect, Ends::fill),
        WITH_DATA(OP_READ, Ends::connect, PEER_WRITES),
        INPUT_SHUT(NONE, Ends::connect, SHUT_INPUT),
        OUTPUT_SHUT(NONE, Ends::connect, SHUT_OUTPUT),
        BOTH_SHUT(NONE, Ends::connect, SHUT_INPUT, SHUT_OUTPUT),
        INPUT_SHUT_WITHOUT_ROOM(NONE, Ends::connect, Ends::fill, SHUT_INPUT),
        WITH_DATA_AND_WITHOUT_ROOM(OP_READ, Ends::connect, Ends::fill, PEER_WRITES),
        PEERS_OUTPUT_SHUT(OP_READ, Ends::connect, PEER_SHUTS_OUTPUT),
        /** Over RDMA, the shutdown may make room. */
        PEERS_OUTPUT_SHUT_AND_WITHOUT_ROOM(OP_READ, Ends::connect, PEER_SHUTS_OUTPUT, AWAIT_READABLE, Ends::fill),
        BOTH_OUTPUTS_SHUT(OP_READ, Ends::connect, SHUT_OUTPUT, PEER_SHUTS_OUTPUT),
        BOTH_OUTPUTS_SHUT_THE_PEERS_FIRST(OP_READ, Ends::connect, PEER_SHUTS_OUTPUT, AWAIT_READABLE, SHUT_OUTPUT),
        PEER_CLOSED(OP_READ, Ends::connect, PEER_CLOSES),
        PEER_CLOSED_AND_INPUT_SHUT(OP_READ, Ends::connect, SHUT_INPUT, PEER_CLOSES),
        PEER_CLOSED_AND_OUTPUT_SHUT(OP_READ, Ends::connect, SHUT_OUTPUT, PEER_CLOSES),
        PEER_RESET(OP_READ, Ends::connect, Ends::reset),
        SERVER_OPEN(NONE, TEST_SERVER),
        SERVER_LISTENING(NONE, Ends::listen, TEST_SERVER),
        SERVER_WITH_REQUEST(OP_ACCEPT, Ends::begin, TEST_SERVER);

        private final int awaited;
        private final List<Step> steps;

        State(int awaited, Step... steps) {
            this.awaited = awaited;
            this.steps = List.of(steps);
        }

        private Ends of(SelectorProvider provider) throws IOException {
            Ends ends = new Ends(provider);
            for (Step step : steps) {
                step.take(ends);
            }
            if (this == CONNECTED_BEFORE_FINISH && ends.client.isConnected()) { // connect() may finish at once
                ends.close();
                return of(provider);
            }
            if (awaited != NONE) {
                assertThat(ends.awaitReady(awaited)).isEqualTo(awaited);
            }
            return ends;
        }

        /** Returns the sets of operations to compare. Over RDMA, a peer's reset looks like its close. */
        private IntStream interests(Ends ends) {
            int all = this == PEER_RESET ? OP_READ | OP_WRITE : ends.tested.validOps();
            return IntStream.rangeClosed(1, all).filter(interest -> (interest & ~all) == 0);
        }
    }

    @ParameterizedTest
    @EnumSource
    void stateHasTheReadyOperationsOfTcp(State state) throws IOException {
        try (Ends tcp = state.of(TCP);
                Ends rdma = state.of(RDMA)) {
            for (int interest : state.interests(tcp).toArray()) {
                int expected = tcp.ready(interest);
                Await.until(
                        state + " with interest " + interest + ": " + expected, () -> rdma.ready(interest) == expected);
            }
            for (int interest : state.interests(tcp).toArray()) {
                int expected = tcp.ready(interest);
                assertThat(expected == NONE ? rdma.ready(interest) : rdma.awaitReady(interest))
                        .as("%s with interest %s", state, interest)
                        .isEqualTo(expected);
            }
        }
    }

    /** A change of a channel that a selector waits for. */
    private enum Change {
        INPUT_SHUT(State.CONNECTED, OP_READ, SHUT_INPUT),
        PEER_WROTE(State.CONNECTED, OP_READ, PEER_WRITES),
        PEERS_OUTPUT_SHUT(State.CONNECTED, OP_READ, PEER_SHUTS_OUTPUT),
        PEER_CLOSED(State.CONNECTED, OP_READ, PEER_CLOSES),
        PEER_RESET(State.CONNECTED, OP_READ, Ends::reset),
        PEER_CLOSED_AFTER_OUTPUT_SHUT(State.OUTPUT_SHUT, OP_READ, PEER_CLOSES),
        OUTPUT_SHUT_WITHOUT_ROOM(State.WITHOUT_ROOM, OP_WRITE, SHUT_OUTPUT),
        PEER_READ(State.WITHOUT_ROOM, OP_WRITE, Ends::readAll),
        PEER_READ_WITH_DATA(State.WITH_DATA_AND_WITHOUT_ROOM, OP_WRITE, Ends::readAll),
        PEER_READ_AFTER_ITS_OUTPUT_SHUT(State.PEERS_OUTPUT_SHUT_AND_WITHOUT_ROOM, OP_WRITE, Ends::readAll),
        PEER_READ_AFTER_INPUT_SHUT(State.INPUT_SHUT_WITHOUT_ROOM, OP_WRITE, Ends::readAll),
        PEER_CLOSED_WITHOUT_ROOM(State.WITHOUT_ROOM, OP_WRITE, PEER_CLOSES),
        CONNECTED(State.OPEN, OP_CONNECT, Ends::begin),
        REQUEST(State.SERVER_LISTENING, OP_ACCEPT, ends -> ends.client.connect(ends.server.getLocalAddress()));

        private final State before;
        private final int interest;
        private final Step step;

        Change(State before, int interest, Step step) {
            this.before = before;
            this.interest = interest;
            this.step = step;
        }

        /** Returns the operations that a selection reports which began before the change. */
        private int reported(SelectorProvider provider) throws Exception {
            try (Ends ends = before.of(provider);
                    Selector selector = provider.openSelector()) {
                SelectionKey key = ends.tested.register(selector, before == State.OPEN ? NONE : interest);
                if (before == State.OPEN) {
                    step.take(ends); // an unconnected channel is ready
                    if (ends.client.isConnected()) { // connect() may finish at once
                        return reported(provider);
                    }
                    key.interestOps(interest);
                }
                OtherThread<Integer> selecting = OtherThread.start(() -> {
                    while (selector.selectedKeys().isEmpty()) {
                        selector.select(TIMEOUT);
                    }
                    return key.readyOps();
                });
                if (before != State.OPEN) {
                    Await.until("a selection that sleeps", () -> sleeps(selecting.thread()));
                    step.take(ends);
                }
                return selecting.join();
            }
        }
    }

    private static boolean sleeps(Thread thread) {
        return Stream.of(thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(Waiters.class.getName())
                                && frame.getMethodName().equals("sleep")
                        || frame.getClassName().equals("sun.nio.ch.EPoll"));
    }

    @ParameterizedTest
    @EnumSource
    void changeDuringASelectionIsReportedAsOverTcp(Change change) throws Exception {
        assertThat(change.reported(RDMA)).isEqualTo(change.reported(TCP)).isEqualTo(change.interest);
    }

    /** Returns what a selector says of a key whose channel is closed, or which is cancelled, before and after a selection. */
    private static List<Object> gone(SelectorProvider provider, boolean close) throws IOException {
        try (Ends ends = State.INPUT_SHUT.of(provider);
                Selector selector = provider.openSelector()) {
            SelectionKey key = ends.tested.register(selector, OP_READ);
            boolean selected =
                    selector.selectNow() == 1 && selector.selectedKeys().contains(key);
            Throwable registered = catchThrowable(() -> ends.tested.configureBlocking(true));
            if (close) {
                ends.client.close();
            } else {
                key.cancel();
            }
            boolean valid = key.isValid();
            int before = selector.keys().size();
            int count = selector.selectNow();
            return List.of(
                    registered.getClass(),
                    selected,
                    valid,
                    catchThrowable(key::interestOps).getClass(),
                    before,
                    count,
                    selector.keys().size(),
                    selector.selectedKeys().size(),
                    ends.tested.isRegistered(),
                    close || ends.tested.register(selector, OP_READ).isValid(),
                    selector.selectNow());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void keyThatIsCancelledOrClosedGoesAsOverTcp(boolean close) throws IOException {
        assertThat(gone(RDMA, close)).isEqualTo(gone(TCP, close));
    }
}
