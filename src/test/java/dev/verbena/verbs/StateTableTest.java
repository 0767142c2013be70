package dev.verbena.verbs;

import static dev.verbena.verbs.Attribute.DESTINATION_QP;
import static dev.verbena.verbs.Attribute.EN_SQD_ASYNC_NOTIFY;
import static dev.verbena.verbs.Attribute.QKEY;
import static dev.verbena.verbs.Attribute.STATE;
import static dev.verbena.verbs.QueuePairState.*;
import static dev.verbena.verbs.device.QueuePairType.*;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.verbs.device.QueuePairType;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The state table, compared with the InfiniBand specification's as the kernel's {@code qp_state_table} has it. */
class StateTableTest {
    private static final Set<QueuePairState> STATES = EnumSet.complementOf(EnumSet.of(QueuePairState.UNKNOWN));

    /** Attributes that several rows have. */
    private static final Map<String, String> GROUPS = Map.of(
            "connected", "RC UC XRC_SEND XRC_RECV",
            "local", "PKEY_INDEX PORT ACCESS_FLAGS",
            "path", "ADDRESS_VECTOR PATH_MTU DESTINATION_QP RQ_PSN",
            "responder", "MAX_DEST_READ_ATOMIC MIN_RNR_TIMER",
            "requester", "TIMEOUT RETRY_COUNT RNR_RETRY SQ_PSN MAX_READ_ATOMIC",
            "rtr", "ALTERNATE_PATH ACCESS_FLAGS PKEY_INDEX",
            "rts", "CURRENT_STATE ALTERNATE_PATH ACCESS_FLAGS PATH_MIGRATION_STATE",
            "sqd", "ADDRESS_VECTOR ALTERNATE_PATH ACCESS_FLAGS PKEY_INDEX PATH_MIGRATION_STATE",
            "reliable", "PORT TIMEOUT RETRY_COUNT RNR_RETRY MAX_READ_ATOMIC");

    /** Transports, states before, state after: what must be set; what may be set. */
    private static final String TABLE = """
            connected, RESET, INIT: local;
            connected, INIT, INIT: ; local
            RC XRC_RECV, INIT, RTR: path responder; rtr
            UC XRC_SEND, INIT, RTR: path; rtr
            RC, RTR, RTS: requester; rts MIN_RNR_TIMER
            XRC_SEND, RTR, RTS: requester; rts
            XRC_RECV, RTR, RTS: TIMEOUT SQ_PSN; rts MIN_RNR_TIMER
            UC, RTR, RTS: SQ_PSN; rts
            RC XRC_RECV, RTS SQD, RTS: ; rts MIN_RNR_TIMER
            XRC_SEND UC, RTS SQD, RTS: ; rts
            UD, RTS SQD, RTS: ; CURRENT_STATE QKEY
            RAW_PACKET, RTS SQD, RTS: ; RATE_LIMIT
            RC, SQD, SQD: ; sqd reliable responder
            XRC_SEND, SQD, SQD: ; sqd reliable
            XRC_RECV, SQD, SQD: ; sqd responder PORT TIMEOUT
            UC, SQD, SQD: ; sqd
            UC, SQE, RTS: ; CURRENT_STATE ACCESS_FLAGS
            UD, RESET, INIT: PKEY_INDEX PORT QKEY;
            UD, INIT, INIT: ; PKEY_INDEX PORT QKEY
            UD, INIT, RTR: ; PKEY_INDEX QKEY
            UD, RTR, RTS: SQ_PSN; CURRENT_STATE QKEY
            UD, SQD, SQD: ; PKEY_INDEX QKEY
            UD, SQE, RTS: ; CURRENT_STATE QKEY
            RAW_PACKET, RESET, INIT: PORT;
            RAW_PACKET, INIT, INIT: ; PORT
            RAW_PACKET, INIT, RTR: ;
            RAW_PACKET, RTR, RTS: ; RATE_LIMIT
            connected UD, RTS, SQD: ; EN_SQD_ASYNC_NOTIFY
            RAW_PACKET, RTS, SQD: ;
            """;

    /** One row: the least that must be set, and what may be. */
    record Row(
            QueuePairType type,
            QueuePairState from,
            QueuePairState to,
            Set<Attribute> required,
            Set<Attribute> optional) {
        @Override
        public String toString() {
            return from == to ? type + " in " + from : type + " from " + from + " to " + to;
        }
    }

    private static <E extends Enum<E>> Set<E> parse(Class<E> type, String names) {
        Set<E> constants = EnumSet.noneOf(type);
        for (String name : names.strip().split(" ")) {
            if (GROUPS.containsKey(name)) {
                constants.addAll(parse(type, GROUPS.get(name)));
            } else if (!name.isEmpty()) {
                constants.add(Enum.valueOf(type, name));
            }
        }
        return constants;
    }

    private static Stream<Row> rows(String line) {
        String[] parts = line.split("[,:;]", -1);
        return parse(QueuePairType.class, parts[0]).stream()
                .flatMap(type -> parse(QueuePairState.class, parts[1]).stream()
                        .map(from -> new Row(
                                type,
                                from,
                                QueuePairState.valueOf(parts[2].strip()),
                                parse(Attribute.class, parts[3]),
                                parse(Attribute.class, parts[4]))));
    }

    static Stream<Row> rows() {
        return TABLE.lines().flatMap(StateTableTest::rows);
    }

    private static String complaint(Row row, Set<Attribute> some, Set<Attribute> more) {
        Set<Attribute> mask = EnumSet.copyOf(more);
        mask.addAll(some);
        return StateTable.complaint(row.type(), row.from(), row.to(), mask).orElse("");
    }

    @ParameterizedTest
    @MethodSource("rows")
    void tableAcceptsRequiredAndAllAttributes(Row row) {
        assertThat(complaint(row, row.required(), Set.of(STATE))).isEmpty();
        Set<Attribute> all = EnumSet.of(STATE);
        all.addAll(row.optional());
        assertThat(complaint(row, row.required(), all)).isEmpty();
        for (Attribute attribute : row.optional()) {
            assertThat(complaint(row, row.required(), Set.of(STATE, attribute)))
                    .as("with " + attribute)
                    .isEmpty();
        }
    }

    @ParameterizedTest
    @MethodSource("rows")
    void tableNamesMissingAndForbiddenAttributes(Row row) {
        for (Attribute attribute : Attribute.values()) {
            if (row.required().contains(attribute)) {
                Set<Attribute> others = EnumSet.copyOf(row.required());
                others.remove(attribute);
                assertThat(complaint(row, others, Set.of(STATE)))
                        .isEqualTo("For " + row + ": missing [" + attribute + "]");
            } else if (attribute != STATE && !row.optional().contains(attribute)) {
                // The kernel has no row of its own for raw packets.
                boolean isAllowed = attribute == EN_SQD_ASYNC_NOTIFY && row.from() == RTS && row.to() == SQD;
                assertThat(complaint(row, row.required(), Set.of(STATE, attribute)))
                        .isEqualTo(isAllowed ? "" : "For " + row + ": not allowed [" + attribute + "]");
            }
        }
        if (!row.required().isEmpty()) {
            Attribute wrong = row.type() == UD || row.type() == RAW_PACKET ? DESTINATION_QP : QKEY;
            assertThat(complaint(row, Set.of(), Set.of(wrong)))
                    .isEqualTo("For " + row + ": missing " + row.required() + ", not allowed [" + wrong + "]");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"RC", "UC", "UD", "RAW_PACKET", "XRC_SEND", "XRC_RECV"})
    void tableNamesThePathForAnInvalidTransition(QueuePairType type) {
        for (QueuePairState from : STATES) {
            Set<QueuePairState> reachable = reachable(type, from);
            for (QueuePairState to : STATES) {
                String complaint =
                        StateTable.complaint(type, from, to, Set.of(STATE)).orElse("");
                boolean impossible = complaint.contains("no transition");
                assertThat(impossible).as(type + " " + from + " -> " + to).isEqualTo(!reachable.contains(to));
                if (impossible) {
                    assertThat(complaint).contains(from.toString(), "goes to " + reachable);
                }
            }
        }
    }

    /** Everything may be reset, everything but RESET may fail, and the rest is in the rows. */
    private static Set<QueuePairState> reachable(QueuePairType type, QueuePairState from) {
        Set<QueuePairState> states = EnumSet.noneOf(QueuePairState.class);
        boolean everThere = from != SQE || type == UC || type == UD || type == RAW_PACKET;
        if (everThere) {
            states.add(RESET);
        }
        if (everThere && from != RESET) {
            states.add(ERR);
        }
        rows().filter(row -> row.type() == type && row.from() == from).forEach(row -> states.add(row.to()));
        return states;
    }

    @Test
    void tableAcceptsUnknownTransportsAndStates() {
        for (QueuePairType type : List.of(DRIVER, QueuePairType.UNKNOWN)) {
            assertThat(StateTable.complaint(type, RESET, RTS, Set.of(QKEY))).isEmpty();
        }
        assertThat(StateTable.complaint(RC, QueuePairState.UNKNOWN, RTS, Set.of(STATE)))
                .isEmpty();
    }
}
