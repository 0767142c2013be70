package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.link.TcpCarrier;
import dev.verbena.internal.link.TcpLink;
import dev.verbena.internal.link.TcpMemory;
import dev.verbena.internal.link.TcpStream;
import dev.verbena.internal.link.Ways;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
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
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The table of a channel's states, and what a channel does in each state about each thing that can happen. */
class SessionStateTest {
    /** The state of a rail after each event; a dot where the event changes nothing. */
    private static final String RAILS = """
                   CONNECTED ASKED     INTRODUCED ADMITTED  GREETED ENDED
        CONNECTING GREETING  .         .          .         .       DOWN
        GREETING   .         ANSWERING PROVING    PREPARING UP      DOWN
        ANSWERING  .         .         PROVING    .         .       DOWN
        PROVING    .         .         .          PREPARING UP      DOWN
        PREPARING  .         .         .          .         UP      DOWN
        UP         .         .         .          .         .       DOWN
        DOWN       .         .         .          .         .       .
        """;

    /** The state of a channel after each event. */
    private static final String CHANNELS = """
                   OPENED  CLOSED  PEER_LEFT ABORTED PATH_LOST HEALED LOST   DONE   RELEASED
        OPENING    OPEN    PARTED  LEFT      PARTING .         .      PARTED .      .
        OPEN       .       CLOSING LEFT      PARTING HEALING   .      PARTED .      .
        HEALING    .       .       .         PARTED  .         OPEN   PARTED .      .
        CLOSING    .       .       DRAINING  PARTED  HEALING   .      PARTED .      .
        DRAINING   .       .       .         PARTED  .         .      PARTED PARTED .
        LEFT       .       .       .         .       .         .      PARTED PARTED .
        PARTING    .       .       .         .       .         .      PARTED PARTED .
        PARTED     .       .       .         .       .         .      .      .      RELEASED
        RELEASED   .       .       .         .       .         .      .      .      .
        """;

    /**
     * What a channel does: its state, or before it is open that of its rail, the code of the goodbye that it sends, the reason of its end, and an x if it
     * disconnects. The rows are what happens, the columns the states before.
     */
    private static final String DEEDS = """
                        CONNECTING            GREETING                 OPEN                     CLOSING                 DRAINING                LEFT     PARTING  PARTED
        ESTABLISHED     GREETING              .                        .                        .                       .                       .        .        .
        GREETING        PARTED/PROTOCOL_ERROR/x OPEN                   PARTING/2/PROTOCOL_ERROR PARTED/PROTOCOL_ERROR/x PARTED/PROTOCOL_ERROR/x .        .        .
        OLD_GREETING    PARTED/PROTOCOL_ERROR/x PARTING/1/OTHER_VERSION PARTING/2/PROTOCOL_ERROR PARTED/PROTOCOL_ERROR/x PARTED/PROTOCOL_ERROR/x .       .        .
        LYING_GREETING  PARTED/PROTOCOL_ERROR/x PARTING/2/PROTOCOL_ERROR PARTING/2/PROTOCOL_ERROR PARTED/PROTOCOL_ERROR/x PARTED/PROTOCOL_ERROR/x .      .        .
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

    /** The two paths to a peer. */
    private static final Wire.Place TWO_PATHS = new Wire.Place(0, 1, List.of(new InetSocketAddress("127.0.0.1", 9)));

    private Engine engine = new Engine(OWN, OPTIONS);
    private final VerbsArena arena = VerbsArena.ofShared();
    private final TcpMemory memory = TcpMemory.create(arena);

    private final List<Session> sessions = new ArrayList<>();

    @AfterEach
    void close() {
        sessions.forEach(session -> session.end(EndReason.LOST, "", null));
        engine.close();
        for (Session session : sessions) {
            session.rail.closeArena();
            ArenaLifetime.of(session.arena).closeUnlessClosed();
        }
        arena.close();
    }

    /** The things that can happen to a channel. */
    enum Deed {
        ESTABLISHED,
        GREETING,
        OLD_GREETING,
        LYING_GREETING,
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
        final Session session = new Session(engine, 1L << 32, OWN, false);
        final List<Integer> goodbyes = new ArrayList<>();
        private final List<TcpFrame> unacknowledged = new ArrayList<>();
        private final TcpLink link;
        private int receive;
        private int sequence;
        int disconnected;
        int greetings;
        boolean moves;

        Probe(String state) {
            this(state, true);
        }

        Probe(String state, boolean overTcp) {
            super(overTcp, engine.carrier);
            link = new TcpLink(
                    memory,
                    new TcpStream((TcpCarrier) engine.carrier, memory, session.rail, false),
                    engine.options.sizes(),
                    session.rail);
            sessions.add(session);
            session.rail.connecting(this, new Ways.Way(0, session.peer));
            assertThat(session.rail.prepare()).isTrue();
            for (Deed deed : path(state)) {
                happen(deed);
            }
            if (state.equals("RELEASED")) {
                session.release(false);
            }
            assertThat(state(session)).isEqualTo(state);
            look();
            goodbyes.clear();
            greetings = 0;
            disconnected = 0;
        }

        private static List<Deed> path(String to) {
            List<Deed> open = List.of(Deed.ESTABLISHED, Deed.GREETING);
            return switch (to) {
                case "CONNECTING" -> List.of();
                case "GREETING" -> open.subList(0, 1);
                case "OPEN" -> open;
                case "CLOSING" -> and(open, Deed.CLOSE);
                case "DRAINING" -> and(open, Deed.CLOSE, Deed.GOODBYE);
                case "LEFT" -> and(open, Deed.GOODBYE);
                case "PARTING" -> and(open, Deed.CREDITS);
                case "PARTED" -> and(open, Deed.NO_ANSWER);
                case "RELEASED" -> and(open, Deed.NO_ANSWER, Deed.CLOSE);
                default -> throw new AssertionError(to);
            };
        }

        private static List<Deed> and(List<Deed> first, Deed... more) {
            return Stream.concat(first.stream(), Arrays.stream(more)).toList();
        }

        void happen(Deed deed) {
            switch (deed) {
                case ESTABLISHED -> session.rail.established();
                case GREETING -> greet(0, Protection.NONE, 0);
                case OLD_GREETING -> greet(1, Protection.NONE, 0);
                case LYING_GREETING -> greet(0, Protection.NONE, 1);
                case SECRET_GREETING -> greet(0, Protection.SEALED, 0);
                case DATA -> receive(Wire.DATA, 0, 0, 8);
                case CREDITS -> receive(Wire.GRANT, 1, 0, 0);
                case GOODBYE -> receive(Wire.GOODBYE, 0, 0, 0);
                case FAULTY_GOODBYE -> receive(Wire.GOODBYE, 0, EndReason.PEER_FAILED.code, 0);
                case DISCONNECTED -> session.rail.disconnected("for a test");
                case FLUSHED -> locked(() -> session.rail.failed(0, WorkStatus.WORK_REQUEST_FLUSHED, () -> null));
                case NO_ANSWER -> locked(() -> session.rail.failed(0, WorkStatus.RETRY_EXCEEDED, () -> null));
                case ACKNOWLEDGED -> acknowledge();
                case TOO_LATE -> late();
                case NODE_FAILED -> session.end(EndReason.FAILED, "for a test", null);
                case DEVICE_REMOVED -> session.end(EndReason.DEVICE_REMOVED, "", null);
                case CLOSE -> session.beginClose();
            }
        }

        private void late() {
            long far = System.nanoTime() + Duration.ofHours(1).toNanos();
            session.tick(System.nanoTime()); // takes the last sign of life
            session.tick(far); // asks for one if nothing is to be acknowledged
            session.tick(far + Duration.ofHours(1).toNanos());
        }

        private void acknowledge() {
            look();
            for (TcpFrame request : List.copyOf(unacknowledged)) {
                locked(() -> session.rail.sent(request.place));
            }
            unacknowledged.clear();
        }

        private void greet(int versionChange, Protection protection, int credits) {
            MemorySegment greeting = session.messages.receive(receive).memory();
            Healing healing = session.healing;
            Wire.Claim claim = healing == null ? null : new Wire.Claim(false, healing.id, TWO_PATHS);
            Wire.Greeting own = new Wire.Greeting(4, 64, 0, new byte[0], claim);
            own.writeWholeTo(greeting);
            Wire.protect(greeting, protection.code(), Transport.RDMA.code());
            greeting.set(ValueLayout.JAVA_BYTE, 4, (byte) (Wire.VERSION + versionChange));
            receive(Wire.GREETING, credits, 0, own.bytes());
        }

        private void receive(int kind, int credits, int code, int bytes) {
            MemorySegment message = session.messages.receive(receive).all;
            sequence += Wire.isCounted(kind) ? 1 : 0;
            Wire.writeHeader(message, kind, code, credits, sequence, 0);
            locked(() -> session.rail.received(Link.RECEIVE | receive++, Wire.HEADER_BYTES + bytes));
        }

        private void locked(Runnable work) {
            try (var _ = session.lock.held()) {
                work.run();
            }
        }

        /** Posts messages about pieces while there is room. Returns their number. */
        int aboutPieces(int most) {
            int posted = 0;
            try (var _ = session.lock.held()) {
                while (posted < most && session.rail.trySendAboutPiece(Wire.PULL, 0)) {
                    posted++;
                }
            }
            return posted;
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
                    } else if (Wire.kind(message) == Wire.GREETING) {
                        greetings++;
                    }
                }
            }
        }

        @Override
        public MemoryRegion register(MemorySegment segment, Collection<AccessFlag> access, VerbsArena owner) {
            return memory.register(segment, access, owner);
        }

        @Override
        public boolean takeProgress() {
            return moves;
        }

        @Override
        public boolean isApart() {
            return false;
        }

        @Override
        public Link link() {
            return link;
        }

        @Override
        public void accept() {
            throw new AssertionError("this side connects");
        }

        @Override
        public void disconnect() {
            disconnected++;
        }

        @Override
        public void forget() {
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
    void eventsLeadFromStateToStateAsInTheTables() {
        assertTable(CHANNELS, SessionState.values(), SessionState.Event.values(), SessionState::after);
        assertTable(RAILS, RailState.values(), RailState.Event.values(), RailState::after);
    }

    @Test
    void statesBelongTogether() {
        assertThat(SessionState.values())
                .filteredOn(SessionState::isLive)
                .containsExactly(SessionState.OPEN, SessionState.HEALING, SessionState.CLOSING, SessionState.DRAINING);
        assertThat(SessionState.values())
                .filteredOn(SessionState::hasParted)
                .containsExactly(SessionState.PARTED, SessionState.RELEASED);
        assertThat(RailState.values())
                .filteredOn(RailState::isHalfOpen)
                .containsExactly(RailState.CONNECTING, RailState.GREETING, RailState.ANSWERING, RailState.PROVING);
    }

    private static <S extends Enum<S>, E extends Enum<E>> void assertTable(
            String text, S[] states, E[] events, BiFunction<S, E, S> after) {
        Map<String, Map<String, String>> table = read(text);
        assertThat(table).hasSize(states.length);
        for (S state : states) {
            assertThat(table.get(state.name())).hasSize(events.length);
            for (E event : events) {
                S next = after.apply(state, event);
                assertThat(next == null ? "." : next.name())
                        .as(event + " in " + state)
                        .isEqualTo(table.get(state.name()).get(event.name()));
            }
        }
    }

    /** Returns the name of the state of a channel; before it is open, of that of its rail. */
    private static String state(Session session) {
        return session.state() != SessionState.OPENING
                ? session.state().name()
                : Arrays.stream(RailState.values())
                        .filter(session.rail::is)
                        .map(Enum::name)
                        .findAny()
                        .orElseThrow();
    }

    @ParameterizedTest
    @EnumSource
    void channelsDoInEachStateWhatTheTableSays(Deed deed) {
        Map<String, String> expected = read(DEEDS).get(deed.name());
        expected.put("RELEASED", ".");
        for (String state : expected.keySet()) {
            Probe probe = new Probe(state);
            ChannelException before = probe.session.cause();
            int earlier = opened();
            probe.happen(deed);
            probe.look();
            Set<String> seen = new HashSet<>();
            if (!state(probe.session).equals(state)) {
                seen.add(state(probe.session));
            }
            probe.goodbyes.forEach(code -> seen.add(code.toString()));
            if (probe.session.cause() != before) {
                seen.add(cause(probe.session).reason().name());
            }
            if (probe.disconnected > 0) {
                seen.add("x");
            }
            String does = expected.get(state);
            assertThat(seen).as(deed + " in " + state).isEqualTo(does.equals(".") ? Set.of() : Set.of(does.split("/")));
            assertThat(probe.disconnected).isLessThanOrEqualTo(1);
            assertThat(probe.goodbyes).hasSizeLessThanOrEqualTo(1);
            assertThat(probe.greetings).isEqualTo(state.equals("CONNECTING") && deed == Deed.ESTABLISHED ? 1 : 0);
            assertThat(opened() - earlier).isEqualTo(state.equals("GREETING") && deed == Deed.GREETING ? 1 : 0);
            checkClose(state, deed, probe);
        }
    }

    /** Closes a channel, which throws if messages may be lost, and never again changes. */
    private void checkClose(String before, Deed deed, Probe probe) {
        SessionState state = probe.session.state();
        boolean fresh = probe.session.beginClose();
        ChannelException lost = probe.session.release(false);
        boolean was = before.equals("CLOSING") || before.equals("DRAINING");
        boolean mayLose = state == SessionState.OPEN
                || state == SessionState.CLOSING
                || state == SessionState.DRAINING
                || (was && probe.session.cause() != null);
        assertThat(lost != null).as(deed + " in " + before + ", then close").isEqualTo(mayLose);
        assertThat(fresh).isEqualTo(!was && !before.equals("RELEASED") && deed != Deed.CLOSE);
        assertThat(probe.session.state()).isEqualTo(SessionState.RELEASED);
        assertThat(engine.statistics().opened()).isEqualTo(engine.statistics().ended());
    }

    /** Nothing is acknowledged. A peer over TCP may send and not receive, and no adapter tells of a part of a request. */
    @ParameterizedTest(name = "over TCP: {0}, messages come: {1}, bytes move: {2}")
    @CsvSource({"true,true,false,false", "false,true,false,true", "true,false,true,true", "true,false,false,false"})
    void signsOfLifeKeepAChannelOpen(boolean overTcp, boolean messages, boolean moves, boolean lives) {
        Probe probe = new Probe("OPEN", overTcp);
        long began = System.nanoTime();
        probe.session.tick(began); // takes the last sign of life
        for (int i = 1; i <= 6; i++) {
            boolean signs = i % 2 == 0; // every three times alive(), and one look between
            if (messages && signs) {
                probe.happen(Deed.DATA);
            }
            probe.moves = moves && signs;
            probe.session.tick(began + i * OPTIONS.alive().toNanos() * 3 / 2);
            assertThat(probe.session.isOpen()).as("after " + i).isEqualTo(lives || i == 1);
        }
    }

    @Test
    void messagesAboutPiecesLeaveRoomForAGrantAndAGoodbye() {
        Probe probe = new Probe("OPEN");
        assertThat(probe.aboutPieces(OPTIONS.sizes().controlSends())).isPositive();
        assertThat(probe.session.rail.hasControlRoom()).isTrue();
    }

    @Test
    void messagesAboutPiecesAreKeptUntilThePeerHasThem() {
        heal();
        Probe probe = new Probe("OPEN");
        int most = 10_000;
        int posted = 0;
        for (int more = 1; more > 0 && posted < most; posted += more) {
            probe.acknowledge();
            more = probe.aboutPieces(1);
        }
        assertThat(posted).isBetween(1, most - 1);
    }

    private void heal() {
        engine.close();
        engine = new Engine(OWN, OPTIONS.heal(Duration.ofHours(9)));
    }

    /** Has a channel lose its connection, and connect again. Nothing answers there. */
    private static Rail tried(Session session) {
        session.rail.disconnected("for a test");
        session.tick(System.nanoTime());
        return next(session);
    }

    private static Rail next(Session session) {
        Healing healing = session.healing;
        assertThat(healing).isNotNull();
        Rail next = healing.next();
        assertThat(next).isNotNull();
        return next;
    }

    /** The ways in which a connection can be lost. */
    enum Loss {
        DISCONNECTED,
        FLUSHED,
        NO_ANSWER,
        OTHER_FAILURE,
        PATH,
        REFUSAL,
        SHORT_MESSAGE;

        void happen(Session session, Rail rail) {
            try (var _ = session.lock.held()) {
                switch (this) {
                    case DISCONNECTED -> rail.disconnected("for a test");
                    case FLUSHED -> rail.failed(0, WorkStatus.WORK_REQUEST_FLUSHED, () -> null);
                    case NO_ANSWER -> rail.failed(0, WorkStatus.RETRY_EXCEEDED, () -> null);
                    case OTHER_FAILURE -> rail.failed(0, WorkStatus.REMOTE_OPERATION_ERROR, () -> null);
                    case PATH -> assertThat(rail.losesPath("for a test")).isTrue();
                    case REFUSAL -> {
                        MemorySegment message = session.messages.receive(0).all;
                        Wire.writeHeader(message, Wire.GOODBYE, EndReason.TOO_MANY_CHANNELS.code, 0, 0, 0);
                        rail.received(Link.RECEIVE, Wire.HEADER_BYTES);
                    }
                    case SHORT_MESSAGE -> rail.received(Link.RECEIVE, Wire.HEADER_BYTES - 1);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void channelsThatHealDoSoAfterEachLoss(Loss loss) {
        heal();
        Session session = new Probe("OPEN").session;
        Rail first = session.rail;
        loss.happen(session, first);
        assertThat(session.state())
                .isEqualTo(
                        switch (loss) {
                            case DISCONNECTED, FLUSHED, NO_ANSWER, PATH -> SessionState.HEALING;
                            case OTHER_FAILURE, REFUSAL -> SessionState.PARTED;
                            case SHORT_MESSAGE -> SessionState.PARTING;
                        });
        assertThat(first.isRetired()).isEqualTo(session.isHealing());
        if (first.isRetired()) {
            assertThat(first.losesPath("once more")).isTrue();
        }
    }

    @Test
    void channelsThatDoNotHealLoseNoPath() {
        Session session = new Probe("OPEN").session;
        assertThat(session.rail.losesPath("for a test")).isFalse();
        assertThat(session.state()).isEqualTo(SessionState.OPEN);
    }

    /** There is another path, which it tries next. */
    @ParameterizedTest
    @EnumSource
    void channelsThatHealGoOnAfterEachLossOfTheNextConnection(Loss loss) {
        heal();
        Session session = new Probe("OPEN").session;
        Rail tried = tried(session);
        assertThat(tried.hasConnected()).isFalse();
        tried.established();
        assertThat(tried.hasConnected()).isTrue();
        loss.happen(session, tried);
        assertThat(session.state()).isEqualTo(SessionState.HEALING);
        assertThat(tried.isRetired()).isTrue();
        session.tick(System.nanoTime());
        assertThat(next(session)).isNotSameAs(tried);
    }

    /** Each step of a connection gives the attempt more time. */
    @Test
    void attemptsThatComeFurtherHaveMoreTime() {
        heal();
        Session session = new Probe("OPEN").session;
        session.rail.disconnected("for a test");
        long began = System.nanoTime();
        awaitPause(began);
        long prepared = System.nanoTime();
        session.tick(began); // a while ago
        Rail tried = next(session);
        session.tick(prepared + Healing.ATTEMPT_NANOS);
        assertThat(next(session)).as("prepared").isSameAs(tried);
        long then = System.nanoTime();
        awaitPause(then);
        long established = System.nanoTime();
        tried.established();
        session.tick(established + Healing.ATTEMPT_NANOS);
        assertThat(next(session)).as("established").isSameAs(tried);
        session.tick(System.nanoTime() + 2 * Healing.ATTEMPT_NANOS);
        assertThat(tried.isRetired()).isTrue();
    }

    /** Waits for longer than the first pause between attempts, which counts as time of an attempt. */
    private static void awaitPause(long since) {
        Await.until("the clock goes on", () -> System.nanoTime() - since > 2 * Healing.FIRST_PAUSE_NANOS);
    }

    private int opened() {
        return (int) engine.statistics().opened();
    }

    private static ChannelException cause(Session session) {
        @Nullable ChannelException known = session.cause();
        assertThat(known).isNotNull();
        return known;
    }
}
