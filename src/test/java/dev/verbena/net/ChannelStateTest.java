package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The table of a channel's states, and what a channel does in each state about each thing that can happen. */
class ChannelStateTest {
    /** The state after each event; a dot where the event changes nothing. */
    private static final String TABLE = """
                   CONNECTED ASKED     INTRODUCED ADMITTED  GREETED CLOSED  PEER_LEFT ABORTED LOST   DONE   RELEASED
        CONNECTING GREETING  .         .          .         .       PARTED  PARTED    PARTED  PARTED .      .
        GREETING   .         ANSWERING PROVING    PREPARING OPEN    PARTED  LEFT      PARTING PARTED .      .
        ANSWERING  .         .         PROVING    .         .       PARTED  LEFT      PARTING PARTED .      .
        PROVING    .         .         .          PREPARING OPEN    PARTED  LEFT      PARTING PARTED .      .
        PREPARING  .         .         .          .         OPEN    PARTED  LEFT      PARTING PARTED .      .
        OPEN       .         .         .          .         .       CLOSING LEFT      PARTING PARTED .      .
        CLOSING    .         .         .          .         .       .       DRAINING  PARTED  PARTED .      .
        DRAINING   .         .         .          .         .       .       .         PARTED  PARTED PARTED .
        LEFT       .         .         .          .         .       .       .         .       PARTED PARTED .
        PARTING    .         .         .          .         .       .       .         .       PARTED PARTED .
        PARTED     .         .         .          .         .       .       .         .       .      .      RELEASED
        RELEASED   .         .         .          .         .       .       .         .       .      .      .
        """;

    /**
     * What a channel does: its state, the code of the goodbye that it sends, the reason of its end, and an x if it
     * disconnects. The rows are what happens, the columns the states before.
     */
    private static final String DEEDS = """
                        CONNECTING            GREETING                 OPEN                     CLOSING                 DRAINING                LEFT     PARTING  PARTED
        ESTABLISHED     GREETING              .                        .                        .                       .                       .        .        .
        GREETING        PARTED/PROTOCOL_ERROR/x OPEN                   PARTING/2/PROTOCOL_ERROR PARTED/PROTOCOL_ERROR/x PARTED/PROTOCOL_ERROR/x .        .        .
        OLD_GREETING    PARTED/PROTOCOL_ERROR/x PARTING/1/OTHER_VERSION PARTING/2/PROTOCOL_ERROR PARTED/PROTOCOL_ERROR/x PARTED/PROTOCOL_ERROR/x .       .        .
        SECRET_GREETING PARTED/PROTOCOL_ERROR/x PARTING/9/OTHER_PROTECTION PARTING/2/PROTOCOL_ERROR PARTED/PROTOCOL_ERROR/x PARTED/PROTOCOL_ERROR/x .    .        .
        DATA            PARTED/PROTOCOL_ERROR/x PARTING/2/PROTOCOL_ERROR .                      .                       PARTED/PROTOCOL_ERROR/x .        .        .
        CREDITS         PARTED/PROTOCOL_ERROR/x PARTING/2/PROTOCOL_ERROR PARTING/2/PROTOCOL_ERROR PARTED/PROTOCOL_ERROR/x PARTED/PROTOCOL_ERROR/x .      .        .
        GOODBYE         PARTED/CLOSED_BY_PEER/x LEFT/0/CLOSED_BY_PEER  LEFT/0/CLOSED_BY_PEER    DRAINING                PARTED/PROTOCOL_ERROR/x .        .        .
        FAULTY_GOODBYE  PARTED/PEER_FAILED/x  PARTED/PEER_FAILED/x     PARTED/PEER_FAILED/x     PARTED/PEER_FAILED/x    PARTED/PROTOCOL_ERROR/x .        .        .
        DISCONNECTED    PARTED/LOST/x         PARTED/LOST/x            PARTED/LOST/x            PARTED/LOST/x           PARTED/x                PARTED/x PARTED/x .
        FLUSHED         .                     PARTED/LOST/x            PARTED/LOST/x            PARTED/LOST/x           PARTED/x                PARTED/x PARTED/x .
        NO_ANSWER       PARTED/LOST/x         PARTED/LOST/x            PARTED/LOST/x            PARTED/LOST/x           PARTED/x                PARTED/x PARTED/x .
        ACKNOWLEDGED    .                     .                        .                        .                       PARTED/x                PARTED/x PARTED/x .
        TOO_LATE        .                     .                        PARTED/LOST/x            PARTED/LOST/x           PARTED/LOST/x           PARTED/x PARTED/x .
        NODE_FAILED     PARTED/FAILED/x       PARTING/5/FAILED         PARTING/5/FAILED         PARTED/FAILED/x         PARTED/FAILED/x         .        .        .
        DEVICE_REMOVED  PARTED/DEVICE_REMOVED/x PARTED/DEVICE_REMOVED/x PARTED/DEVICE_REMOVED/x PARTED/DEVICE_REMOVED/x PARTED/DEVICE_REMOVED/x PARTED/x PARTED/x .
        CLOSE           PARTED/x              PARTED/x                 CLOSING/0                .                       .                       .        .        .
        """;

    private static final InetSocketAddress OWN = new InetSocketAddress("127.0.0.1", 0);
    private static final NodeOptions OPTIONS = NodeOptions.defaults()
            .transport(Transport.TCP)
            .progress(NodeOptions.Progress.CALLER)
            .window(4)
            .sends(4)
            .calls(0)
            .operations(0)
            .messageSize(64);

    private final Engine engine = new Engine(OWN, OPTIONS);
    private final VerbsArena arena = VerbsArena.ofShared();
    private final TcpMemory memory = TcpMemory.create(arena);

    @AfterEach
    void close() {
        engine.close();
        arena.close();
    }

    /** The things that can happen to a channel. */
    enum Deed {
        ESTABLISHED,
        GREETING,
        OLD_GREETING,
        SECRET_GREETING,
        DATA,
        CREDITS,
        GOODBYE,
        FAULTY_GOODBYE,
        DISCONNECTED,
        FLUSHED,
        NO_ANSWER,
        ACKNOWLEDGED,
        TOO_LATE,
        NODE_FAILED,
        DEVICE_REMOVED,
        CLOSE
    }

    /** A channel that connects, with a connection that notes what the channel does. */
    private final class Probe extends Carrier.Connection {
        final ChannelCore core = new ChannelCore(engine, 1L << 32, OWN, false);
        final List<Integer> goodbyes = new ArrayList<>();
        private final List<TcpFrame> unacknowledged = new ArrayList<>();
        private final TcpLink link;
        private int receive;
        private int sequence;
        int disconnected;

        Probe(ChannelState state) {
            super(Transport.TCP, engine.carrier);
            link = new TcpLink(memory, new TcpStream((TcpCarrier) engine.carrier, memory, core, false), OPTIONS, arena);
            core.connecting(this);
            assertThat(core.prepare()).isTrue();
            for (Deed deed : path(state)) {
                happen(deed);
            }
            if (state == ChannelState.RELEASED) {
                core.finishClose(false);
            }
            assertThat(core.state()).isEqualTo(state);
            look();
            goodbyes.clear();
            disconnected = 0;
        }

        private static List<Deed> path(ChannelState to) {
            List<Deed> open = List.of(Deed.ESTABLISHED, Deed.GREETING);
            return switch (to) {
                case CONNECTING -> List.of();
                case PREPARING, ANSWERING, PROVING -> throw new AssertionError("of other sides");
                case GREETING -> open.subList(0, 1);
                case OPEN -> open;
                case CLOSING -> and(open, Deed.CLOSE);
                case DRAINING -> and(open, Deed.CLOSE, Deed.GOODBYE);
                case LEFT -> and(open, Deed.GOODBYE);
                case PARTING -> and(open, Deed.CREDITS);
                case PARTED -> and(open, Deed.NO_ANSWER);
                case RELEASED -> and(open, Deed.NO_ANSWER, Deed.CLOSE);
            };
        }

        private static List<Deed> and(List<Deed> first, Deed... more) {
            return Stream.concat(first.stream(), Arrays.stream(more)).toList();
        }

        void happen(Deed deed) {
            switch (deed) {
                case ESTABLISHED -> core.established();
                case GREETING -> greet(0, Protection.NONE);
                case OLD_GREETING -> greet(1, Protection.NONE);
                case SECRET_GREETING -> greet(0, Protection.SEALED);
                case DATA -> receive(Wire.DATA, 0, 0, 8);
                case CREDITS -> receive(Wire.GRANT, 1, 0, 0);
                case GOODBYE -> receive(Wire.GOODBYE, 0, 0, 0);
                case FAULTY_GOODBYE -> receive(Wire.GOODBYE, 0, EndReason.PEER_FAILED.code, 0);
                case DISCONNECTED -> core.disconnected("for a test");
                case FLUSHED -> locked(() -> core.failed(0, WorkStatus.WORK_REQUEST_FLUSHED, () -> null));
                case NO_ANSWER -> locked(() -> core.failed(0, WorkStatus.RETRY_EXCEEDED, () -> null));
                case ACKNOWLEDGED -> acknowledge();
                case TOO_LATE -> late();
                case NODE_FAILED -> core.end(EndReason.FAILED, "for a test", null);
                case DEVICE_REMOVED -> core.end(EndReason.DEVICE_REMOVED, "", null);
                case CLOSE -> core.beginClose();
            }
        }

        private void late() {
            long far = System.nanoTime() + Duration.ofHours(1).toNanos();
            core.tick(System.nanoTime()); // takes the last sign of life
            core.tick(far); // asks for one if nothing is to be acknowledged
            core.tick(far + Duration.ofHours(1).toNanos());
        }

        private void acknowledge() {
            look();
            for (TcpFrame request : List.copyOf(unacknowledged)) {
                locked(() -> core.sent((int) request.id & 0xffff));
            }
            unacknowledged.clear();
        }

        private void greet(int versionChange, Protection protection) {
            MemorySegment greeting = core.messages.receive(receive).memory();
            new Wire.Greeting(4, 64, 0, new byte[0]).writeTo(greeting);
            Wire.protect(greeting, protection, Transport.RDMA);
            greeting.set(ValueLayout.JAVA_BYTE, 4, (byte) (Wire.VERSION + versionChange));
            receive(Wire.GREETING, 0, 0, Wire.GREETING_BYTES);
        }

        private void receive(int kind, int credits, int code, int bytes) {
            MemorySegment message = core.messages.receive(receive).all;
            sequence += Wire.isCounted(kind) ? 1 : 0;
            Wire.writeHeader(message, kind, code, credits, sequence, 0);
            locked(() -> core.received(ChannelCore.RECEIVE | receive++, Wire.HEADER_BYTES + bytes));
        }

        private void locked(Runnable work) {
            try (var _ = core.lock.held()) {
                work.run();
            }
        }

        /** Looks at what the channel has posted. */
        void look() {
            for (TcpFrame next = link.next(); next != null; next = link.next()) {
                unacknowledged.add(next);
                if (next.type == TcpFrame.SEND) {
                    MemorySegment message =
                            MemorySegment.ofAddress(next.dataAddress).reinterpret(Wire.HEADER_BYTES);
                    if (Wire.kind(message) == Wire.GOODBYE) {
                        goodbyes.add(Wire.call(message));
                    }
                }
            }
        }

        @Override
        public MemoryRegion register(MemorySegment segment, Collection<AccessFlag> access, VerbsArena owner) {
            return memory.register(segment, access, arena);
        }

        @Override
        boolean isApart() {
            return false;
        }

        @Override
        Link link(NodeOptions options, VerbsArena owner) {
            return link;
        }

        @Override
        void accept() {
            throw new AssertionError("this side connects");
        }

        @Override
        void disconnect() {
            disconnected++;
        }

        @Override
        void forget() {
            // Nobody knows it.
        }
    }

    /** Reads a table: by the name of the row and that of the column. */
    private static Map<String, Map<String, String>> read(String table) {
        List<List<String>> lines =
                table.lines().map(line -> List.of(line.strip().split(" +"))).toList();
        List<String> columns = lines.getFirst();
        return lines.stream().skip(1).collect(Collectors.toMap(List::getFirst, line -> {
            assertThat(line).hasSize(columns.size() + 1);
            return columns.stream()
                    .collect(Collectors.toMap(name -> name, name -> line.get(columns.indexOf(name) + 1)));
        }));
    }

    @Test
    void eventsLeadFromStateToStateAsInTheTable() {
        Map<String, Map<String, String>> table = read(TABLE);
        assertThat(table).hasSize(ChannelState.values().length);
        for (ChannelState state : ChannelState.values()) {
            assertThat(table.get(state.name())).hasSize(ChannelState.Event.values().length);
            for (ChannelState.Event event : ChannelState.Event.values()) {
                ChannelState after = state.after(event);
                assertThat(after == null ? "." : after.name())
                        .as(event + " in " + state)
                        .isEqualTo(table.get(state.name()).get(event.name()));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void channelsDoInEachStateWhatTheTableSays(Deed deed) {
        for (ChannelState state : EnumSet.complementOf(EnumSet.of( // of the other side, and with a secret
                ChannelState.PREPARING, ChannelState.ANSWERING, ChannelState.PROVING))) {
            Probe probe = new Probe(state);
            ChannelException before = probe.core.cause();
            int earlier = opened();
            probe.happen(deed);
            probe.look();
            Set<String> seen = new HashSet<>();
            if (probe.core.state() != state) {
                seen.add(probe.core.state().name());
            }
            probe.goodbyes.forEach(code -> seen.add(code.toString()));
            if (probe.core.cause() != before) {
                seen.add(cause(probe.core).reason().name());
            }
            if (probe.disconnected > 0) {
                seen.add("x");
            }
            String expected = state == ChannelState.RELEASED
                    ? "."
                    : read(DEEDS).get(deed.name()).get(state.name());
            assertThat(seen)
                    .as(deed + " in " + state)
                    .isEqualTo(expected.equals(".") ? Set.of() : Set.of(expected.split("/")));
            assertThat(probe.disconnected).isLessThanOrEqualTo(1);
            assertThat(probe.goodbyes).hasSizeLessThanOrEqualTo(1);
            assertThat(opened() - earlier).isEqualTo(state == ChannelState.GREETING && deed == Deed.GREETING ? 1 : 0);
            checkClose(state, deed, probe);
        }
    }

    /** Closes a channel, which throws if messages may be lost, and never again changes. */
    private void checkClose(ChannelState before, Deed deed, Probe probe) {
        ChannelState state = probe.core.state();
        boolean fresh = probe.core.beginClose();
        ChannelException lost = probe.core.finishClose(false);
        boolean was = before == ChannelState.CLOSING || before == ChannelState.DRAINING;
        boolean mayLose = state == ChannelState.OPEN
                || state == ChannelState.CLOSING
                || state == ChannelState.DRAINING
                || (was && probe.core.cause() != null);
        assertThat(lost != null).as(deed + " in " + before + ", then close").isEqualTo(mayLose);
        assertThat(fresh).isEqualTo(!was && before != ChannelState.RELEASED && deed != Deed.CLOSE);
        assertThat(probe.core.state()).isEqualTo(ChannelState.RELEASED);
        assertThat(engine.statistics().opened()).isEqualTo(engine.statistics().ended());
    }

    private int opened() {
        return (int) engine.statistics().opened();
    }

    private static ChannelException cause(ChannelCore core) {
        @Nullable ChannelException known = core.cause();
        assertThat(known).isNotNull();
        return known;
    }
}
