package dev.verbena.verbs;

import static dev.verbena.verbs.Attribute.*;
import static dev.verbena.verbs.QueuePairState.*;
import static dev.verbena.verbs.device.QueuePairType.*;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.verbs.device.QueuePairType;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The state table, compared with the InfiniBand specification's as the kernel's {@code qp_state_table} has it. */
class StateTableTest {
    private static final Set<QueuePairState> STATES = EnumSet.complementOf(EnumSet.of(QueuePairState.UNKNOWN));
    private static final Set<QueuePairType> CONNECTED = EnumSet.of(RC, UC, XRC_SEND, XRC_RECV);
    private static final Set<QueuePairType> TRANSPORTS = EnumSet.of(RC, UC, UD, RAW_PACKET, XRC_SEND, XRC_RECV);

    /** One row: the least that must be set, and what may be. */
    record Row(
            QueuePairType type,
            QueuePairState from,
            QueuePairState to,
            Set<Attribute> required,
            Set<Attribute> optional) {
        @Override
        public String toString() {
            return type + " " + from + " -> " + to;
        }
    }

    private static Set<Attribute> set(Attribute... attributes) {
        return attributes.length == 0 ? EnumSet.noneOf(Attribute.class) : EnumSet.of(attributes[0], attributes);
    }

    private static Set<Attribute> both(Set<Attribute> some, Set<Attribute> more) {
        Set<Attribute> all = EnumSet.copyOf(some);
        all.addAll(more);
        return all;
    }

    private static final Set<Attribute> NONE = set();

    static List<Row> rows() {
        List<Row> rows = new ArrayList<>();
        Set<Attribute> first = set(PKEY_INDEX, PORT, ACCESS_FLAGS);
        Set<Attribute> path = set(ADDRESS_VECTOR, PATH_MTU, DESTINATION_QP, RQ_PSN);
        Set<Attribute> responder = set(MAX_DEST_READ_ATOMIC, MIN_RNR_TIMER);
        Set<Attribute> requester = set(TIMEOUT, RETRY_COUNT, RNR_RETRY, SQ_PSN, MAX_READ_ATOMIC);
        Set<Attribute> atRtr = set(ALTERNATE_PATH, ACCESS_FLAGS, PKEY_INDEX);
        Set<Attribute> atRts = set(CURRENT_STATE, ALTERNATE_PATH, ACCESS_FLAGS, PATH_MIGRATION_STATE);

        for (QueuePairType type : CONNECTED) {
            rows.add(new Row(type, RESET, INIT, first, NONE));
            rows.add(new Row(type, INIT, INIT, NONE, first));
        }
        rows.add(new Row(RC, INIT, RTR, both(path, responder), atRtr));
        rows.add(new Row(XRC_RECV, INIT, RTR, both(path, responder), atRtr));
        rows.add(new Row(UC, INIT, RTR, path, atRtr));
        rows.add(new Row(XRC_SEND, INIT, RTR, path, atRtr));
        rows.add(new Row(RC, RTR, RTS, requester, both(atRts, set(MIN_RNR_TIMER))));
        rows.add(new Row(XRC_SEND, RTR, RTS, requester, atRts));
        rows.add(new Row(XRC_RECV, RTR, RTS, set(TIMEOUT, SQ_PSN), both(atRts, set(MIN_RNR_TIMER))));
        rows.add(new Row(UC, RTR, RTS, set(SQ_PSN), atRts));
        for (QueuePairState from : List.of(RTS, SQD)) {
            rows.add(new Row(RC, from, RTS, NONE, both(atRts, set(MIN_RNR_TIMER))));
            rows.add(new Row(XRC_RECV, from, RTS, NONE, both(atRts, set(MIN_RNR_TIMER))));
            rows.add(new Row(XRC_SEND, from, RTS, NONE, atRts));
            rows.add(new Row(UC, from, RTS, NONE, atRts));
            rows.add(new Row(UD, from, RTS, NONE, set(CURRENT_STATE, QKEY)));
            rows.add(new Row(RAW_PACKET, from, RTS, NONE, set(RATE_LIMIT)));
        }
        rows.add(new Row(
                RC,
                SQD,
                SQD,
                NONE,
                set(
                        PORT,
                        ADDRESS_VECTOR,
                        TIMEOUT,
                        RETRY_COUNT,
                        RNR_RETRY,
                        MAX_READ_ATOMIC,
                        MAX_DEST_READ_ATOMIC,
                        ALTERNATE_PATH,
                        ACCESS_FLAGS,
                        PKEY_INDEX,
                        MIN_RNR_TIMER,
                        PATH_MIGRATION_STATE)));
        rows.add(new Row(
                XRC_SEND,
                SQD,
                SQD,
                NONE,
                set(
                        PORT,
                        ADDRESS_VECTOR,
                        TIMEOUT,
                        RETRY_COUNT,
                        RNR_RETRY,
                        MAX_READ_ATOMIC,
                        ALTERNATE_PATH,
                        ACCESS_FLAGS,
                        PKEY_INDEX,
                        PATH_MIGRATION_STATE)));
        rows.add(new Row(
                XRC_RECV,
                SQD,
                SQD,
                NONE,
                set(
                        PORT,
                        ADDRESS_VECTOR,
                        TIMEOUT,
                        MAX_DEST_READ_ATOMIC,
                        ALTERNATE_PATH,
                        ACCESS_FLAGS,
                        PKEY_INDEX,
                        MIN_RNR_TIMER,
                        PATH_MIGRATION_STATE)));
        rows.add(new Row(
                UC,
                SQD,
                SQD,
                NONE,
                set(ADDRESS_VECTOR, ALTERNATE_PATH, ACCESS_FLAGS, PKEY_INDEX, PATH_MIGRATION_STATE)));
        rows.add(new Row(UC, SQE, RTS, NONE, set(CURRENT_STATE, ACCESS_FLAGS)));

        rows.add(new Row(UD, RESET, INIT, set(PKEY_INDEX, PORT, QKEY), NONE));
        rows.add(new Row(UD, INIT, INIT, NONE, set(PKEY_INDEX, PORT, QKEY)));
        rows.add(new Row(UD, INIT, RTR, NONE, set(PKEY_INDEX, QKEY)));
        rows.add(new Row(UD, RTR, RTS, set(SQ_PSN), set(CURRENT_STATE, QKEY)));
        rows.add(new Row(UD, SQD, SQD, NONE, set(PKEY_INDEX, QKEY)));
        rows.add(new Row(UD, SQE, RTS, NONE, set(CURRENT_STATE, QKEY)));
        rows.add(new Row(RAW_PACKET, RESET, INIT, set(PORT), NONE));
        rows.add(new Row(RAW_PACKET, INIT, INIT, NONE, set(PORT)));
        rows.add(new Row(RAW_PACKET, INIT, RTR, NONE, NONE));
        rows.add(new Row(RAW_PACKET, RTR, RTS, NONE, set(RATE_LIMIT)));
        for (QueuePairType type : TRANSPORTS) {
            rows.add(new Row(type, RTS, SQD, NONE, type == RAW_PACKET ? NONE : set(EN_SQD_ASYNC_NOTIFY)));
        }
        return rows;
    }

    @ParameterizedTest
    @MethodSource("rows")
    void tableAcceptsRequiredAndAllAttributes(Row row) {
        assertThat(complaint(row, both(row.required(), set(STATE)))).isEmpty();
        assertThat(complaint(row, both(both(row.required(), row.optional()), set(STATE))))
                .isEmpty();
        for (Attribute attribute : row.optional()) {
            assertThat(complaint(row, both(row.required(), set(attribute))))
                    .as("with " + attribute)
                    .isEmpty();
        }
    }

    @ParameterizedTest
    @MethodSource("rows")
    void tableNamesMissingAttributes(Row row) {
        for (Attribute attribute : row.required()) {
            Set<Attribute> mask = both(row.required(), set(STATE));
            mask.remove(attribute);
            assertThat(complaint(row, mask))
                    .contains("missing [" + attribute + "]")
                    .doesNotContain("not allowed");
        }
        if (!row.required().isEmpty()) {
            assertThat(complaint(row, set(STATE))).contains("missing " + row.required());
        }
    }

    @ParameterizedTest
    @MethodSource("rows")
    void tableNamesForbiddenAttributes(Row row) {
        Set<Attribute> foreign = EnumSet.allOf(Attribute.class);
        foreign.removeAll(row.required());
        foreign.removeAll(row.optional());
        foreign.remove(STATE);
        if (row.to() == SQD && row.from() == RTS) {
            foreign.remove(EN_SQD_ASYNC_NOTIFY); // the kernel has no row of its own for raw packets
        }
        for (Attribute attribute : foreign) {
            assertThat(complaint(row, both(row.required(), set(STATE, attribute))))
                    .contains("not allowed [" + attribute + "]")
                    .doesNotContain("missing");
        }
    }

    @ParameterizedTest
    @MethodSource("rows")
    void tableNamesTheTransportAndTheTransition(Row row) {
        Set<Attribute> wrong = row.type() == UD || row.type() == RAW_PACKET ? set(DESTINATION_QP) : set(QKEY);
        assertThat(complaint(row, wrong))
                .contains(row.type().toString(), row.from().toString(), row.to().toString());
    }

    private static String complaint(Row row, Set<Attribute> mask) {
        return StateTable.complaint(row.type(), row.from(), row.to(), mask).orElse("");
    }

    @ParameterizedTest
    @EnumSource(names = {"RC", "UC", "UD", "RAW_PACKET", "XRC_SEND", "XRC_RECV"})
    void tableNamesThePathForAnInvalidTransition(QueuePairType type) {
        for (QueuePairState from : STATES) {
            Set<QueuePairState> reachable = reachable(type, from);
            for (QueuePairState to : STATES) {
                boolean impossible = StateTable.complaint(type, from, to, set(STATE))
                        .orElse("")
                        .contains("no transition");
                assertThat(impossible).as(type + " " + from + " -> " + to).isEqualTo(!reachable.contains(to));
                if (impossible) {
                    assertThat(StateTable.complaint(type, from, to, set(STATE)).orElseThrow())
                            .contains(from.toString(), "goes to " + reachable);
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
        rows().stream().filter(row -> row.type() == type && row.from() == from).forEach(row -> states.add(row.to()));
        return states;
    }

    static Stream<QueuePairType> transportsLeftToTheDriver() {
        return Stream.of(DRIVER, QueuePairType.UNKNOWN);
    }

    @ParameterizedTest
    @MethodSource("transportsLeftToTheDriver")
    void tableAcceptsUnknownTransports(QueuePairType type) {
        assertThat(StateTable.complaint(type, RESET, RTS, set(QKEY))).isEmpty();
    }

    @Test
    void tableAcceptsUnknownStates() {
        assertThat(StateTable.complaint(RC, QueuePairState.UNKNOWN, RTS, set(STATE)))
                .isEmpty();
    }
}
