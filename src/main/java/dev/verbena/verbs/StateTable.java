package dev.verbena.verbs;

import static dev.verbena.verbs.Attribute.ACCESS_FLAGS;
import static dev.verbena.verbs.Attribute.ADDRESS_VECTOR;
import static dev.verbena.verbs.Attribute.ALTERNATE_PATH;
import static dev.verbena.verbs.Attribute.CURRENT_STATE;
import static dev.verbena.verbs.Attribute.DESTINATION_QP;
import static dev.verbena.verbs.Attribute.EN_SQD_ASYNC_NOTIFY;
import static dev.verbena.verbs.Attribute.MAX_DEST_READ_ATOMIC;
import static dev.verbena.verbs.Attribute.MAX_READ_ATOMIC;
import static dev.verbena.verbs.Attribute.MIN_RNR_TIMER;
import static dev.verbena.verbs.Attribute.PATH_MIGRATION_STATE;
import static dev.verbena.verbs.Attribute.PATH_MTU;
import static dev.verbena.verbs.Attribute.PKEY_INDEX;
import static dev.verbena.verbs.Attribute.PORT;
import static dev.verbena.verbs.Attribute.QKEY;
import static dev.verbena.verbs.Attribute.RATE_LIMIT;
import static dev.verbena.verbs.Attribute.RETRY_COUNT;
import static dev.verbena.verbs.Attribute.RNR_RETRY;
import static dev.verbena.verbs.Attribute.RQ_PSN;
import static dev.verbena.verbs.Attribute.SQ_PSN;
import static dev.verbena.verbs.Attribute.STATE;
import static dev.verbena.verbs.Attribute.TIMEOUT;
import static dev.verbena.verbs.QueuePairState.ERR;
import static dev.verbena.verbs.QueuePairState.INIT;
import static dev.verbena.verbs.QueuePairState.RESET;
import static dev.verbena.verbs.QueuePairState.RTR;
import static dev.verbena.verbs.QueuePairState.RTS;
import static dev.verbena.verbs.QueuePairState.SQD;
import static dev.verbena.verbs.QueuePairState.SQE;
import static dev.verbena.verbs.device.QueuePairType.RAW_PACKET;
import static dev.verbena.verbs.device.QueuePairType.RC;
import static dev.verbena.verbs.device.QueuePairType.UC;
import static dev.verbena.verbs.device.QueuePairType.UD;
import static dev.verbena.verbs.device.QueuePairType.XRC_RECV;
import static dev.verbena.verbs.device.QueuePairType.XRC_SEND;

import dev.verbena.verbs.device.QueuePairType;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The table of a queue pair's changes of state: for each transport, the attributes that a change must and may set. It is
 * the table of the InfiniBand specification, as the kernel checks it.
 */
final class StateTable {
    private record Rule(Set<Attribute> required, Set<Attribute> optional) {}

    /** The table, once it was made: a static initialiser that failed for lack of memory could not be repeated. */
    private static volatile @Nullable StateTable made;

    /** The rules by transport, state before and state after. */
    private final Map<List<Enum<?>>, Rule> rules = new HashMap<>();

    private final Set<QueuePairType> known = EnumSet.of(RC, UC, UD, XRC_SEND, XRC_RECV, RAW_PACKET);

    private StateTable() {
        for (QueuePairType type : known) {
            boolean datagram = type == UD || type == RAW_PACKET;
            for (QueuePairState from : List.of(RESET, INIT, RTR, RTS, SQD, SQE, ERR)) {
                if (from != SQE || datagram || type == UC) {
                    put(type, from, RESET, Set.of(), Set.of());
                    if (from != RESET) {
                        put(type, from, ERR, Set.of(), Set.of());
                    }
                }
            }
            put(type, RTS, SQD, Set.of(), Set.of(EN_SQD_ASYNC_NOTIFY));
        }
        datagrams();
        rawPackets();
        connections();
    }

    /**
     * Returns the fault of a change, in words, or empty if the change is right. The driver checks transports that the table
     * does not know.
     */
    static Optional<String> complaint(QueuePairType type, QueuePairState from, QueuePairState to, Set<Attribute> mask) {
        StateTable table = made;
        if (table == null) {
            made = table = new StateTable();
        }
        return table.fault(type, from, to, mask);
    }

    private Optional<String> fault(QueuePairType type, QueuePairState from, QueuePairState to, Set<Attribute> mask) {
        if (!known.contains(type) || from == QueuePairState.UNKNOWN) {
            return Optional.empty();
        }
        Rule rule = rules.get(List.of(type, from, to));
        if (rule == null) {
            return Optional.of("There is no transition for " + change(type, from, to) + ": from " + from
                    + " a queue pair goes to " + reachable(type, from));
        }
        Set<Attribute> missing = union(rule.required(), Set.of());
        missing.removeAll(mask);
        Set<Attribute> excess = union(mask, Set.of());
        excess.removeAll(union(rule.required(), rule.optional()));
        excess.remove(STATE);
        List<String> faults = new ArrayList<>();
        if (!missing.isEmpty()) {
            faults.add("missing " + missing);
        }
        if (!excess.isEmpty()) {
            faults.add("not allowed " + excess);
        }
        return faults.isEmpty()
                ? Optional.empty()
                : Optional.of("For " + change(type, from, to) + ": " + String.join(", ", faults));
    }

    private static String change(QueuePairType type, QueuePairState from, QueuePairState to) {
        return from == to ? type + " in " + from : type + " from " + from + " to " + to;
    }

    private Set<QueuePairState> reachable(QueuePairType type, QueuePairState from) {
        Set<QueuePairState> states = EnumSet.noneOf(QueuePairState.class);
        for (QueuePairState to : QueuePairState.values()) {
            if (rules.containsKey(List.of(type, from, to))) {
                states.add(to);
            }
        }
        return states;
    }

    private void datagrams() {
        put(UD, RESET, INIT, Set.of(PKEY_INDEX, PORT, QKEY), Set.of());
        put(UD, INIT, INIT, Set.of(), Set.of(PKEY_INDEX, PORT, QKEY));
        put(UD, INIT, RTR, Set.of(), Set.of(PKEY_INDEX, QKEY));
        put(UD, RTR, RTS, Set.of(SQ_PSN), Set.of(CURRENT_STATE, QKEY));
        put(UD, RTS, RTS, Set.of(), Set.of(CURRENT_STATE, QKEY));
        put(UD, SQD, RTS, Set.of(), Set.of(CURRENT_STATE, QKEY));
        put(UD, SQD, SQD, Set.of(), Set.of(PKEY_INDEX, QKEY));
        put(UD, SQE, RTS, Set.of(), Set.of(CURRENT_STATE, QKEY));
    }

    private void rawPackets() {
        put(RAW_PACKET, RESET, INIT, Set.of(PORT), Set.of());
        put(RAW_PACKET, INIT, INIT, Set.of(), Set.of(PORT));
        put(RAW_PACKET, INIT, RTR, Set.of(), Set.of());
        put(RAW_PACKET, RTR, RTS, Set.of(), Set.of(RATE_LIMIT));
        put(RAW_PACKET, RTS, RTS, Set.of(), Set.of(RATE_LIMIT));
        put(RAW_PACKET, SQD, RTS, Set.of(), Set.of(RATE_LIMIT));
    }

    private void connections() {
        Set<Attribute> first = Set.of(PKEY_INDEX, PORT, ACCESS_FLAGS);
        Set<Attribute> path = Set.of(ADDRESS_VECTOR, PATH_MTU, DESTINATION_QP, RQ_PSN);
        Set<Attribute> running = Set.of(CURRENT_STATE, ALTERNATE_PATH, ACCESS_FLAGS, PATH_MIGRATION_STATE);
        Set<Attribute> drained = Set.of(ALTERNATE_PATH, ACCESS_FLAGS, PKEY_INDEX, PATH_MIGRATION_STATE);
        for (QueuePairType type : List.of(RC, UC, XRC_SEND, XRC_RECV)) {
            boolean responds = type == RC || type == XRC_RECV;
            boolean retries = type == RC || type == XRC_SEND;
            Set<Attribute> responder = responds ? Set.of(MIN_RNR_TIMER) : Set.of();
            put(type, RESET, INIT, first, Set.of());
            put(type, INIT, INIT, Set.of(), first);
            put(
                    type,
                    INIT,
                    RTR,
                    responds ? union(path, Set.of(MAX_DEST_READ_ATOMIC, MIN_RNR_TIMER)) : path,
                    Set.of(ALTERNATE_PATH, ACCESS_FLAGS, PKEY_INDEX));
            put(type, RTR, RTS, toSend(type), union(running, responder));
            put(type, RTS, RTS, Set.of(), union(running, responder));
            put(type, SQD, RTS, Set.of(), union(running, responder));
            Set<Attribute> changeable = type == UC
                    ? union(drained, Set.of(ADDRESS_VECTOR))
                    : union(drained, Set.of(PORT, ADDRESS_VECTOR, TIMEOUT));
            if (retries) {
                changeable = union(changeable, Set.of(RETRY_COUNT, RNR_RETRY, MAX_READ_ATOMIC));
            }
            if (responds) {
                changeable = union(changeable, Set.of(MAX_DEST_READ_ATOMIC, MIN_RNR_TIMER));
            }
            put(type, SQD, SQD, Set.of(), changeable);
        }
        put(UC, SQE, RTS, Set.of(), Set.of(CURRENT_STATE, ACCESS_FLAGS));
    }

    private static Set<Attribute> toSend(QueuePairType type) {
        return switch (type) {
            case RC, XRC_SEND -> Set.of(TIMEOUT, RETRY_COUNT, RNR_RETRY, SQ_PSN, MAX_READ_ATOMIC);
            case XRC_RECV -> Set.of(TIMEOUT, SQ_PSN);
            default -> Set.of(SQ_PSN);
        };
    }

    private static Set<Attribute> union(Set<Attribute> some, Set<Attribute> more) {
        Set<Attribute> all = EnumSet.noneOf(Attribute.class);
        all.addAll(some);
        all.addAll(more);
        return all;
    }

    private void put(
            QueuePairType type,
            QueuePairState from,
            QueuePairState to,
            Set<Attribute> required,
            Set<Attribute> optional) {
        rules.put(List.of(type, from, to), new Rule(required, optional));
    }
}
