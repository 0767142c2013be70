package dev.verbena.verbs;

import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.DeviceCapability;
import dev.verbena.verbs.device.QueuePairType;
import java.util.EnumSet;
import java.util.Set;

/**
 * The attributes of the three changes that connect a queue pair: those that the user asked for, and for the others values
 * that suit most programs.
 */
final class ConnectSteps {
    private static final int MOST_READS = 16;
    private static final int RNR_TIMER = 12; // 0.64 ms
    private static final int TIMEOUT = 14; // 67 ms
    private static final int RETRIES = 6;
    private static final int RNR_RETRIES = 7; // without limit

    private static final EnumSet<Attribute> SETTABLE = EnumSet.of(
            Attribute.ACCESS_FLAGS,
            Attribute.PKEY_INDEX,
            Attribute.ADDRESS_VECTOR,
            Attribute.PATH_MTU,
            Attribute.MIN_RNR_TIMER,
            Attribute.TIMEOUT,
            Attribute.RETRY_COUNT,
            Attribute.RNR_RETRY,
            Attribute.MAX_READ_ATOMIC,
            Attribute.MAX_DEST_READ_ATOMIC);

    private static final EnumSet<AccessFlag> ONLY_RELIABLE = EnumSet.of(
            AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC, AccessFlag.FLUSH_GLOBAL, AccessFlag.FLUSH_PERSISTENT);

    private final QueuePairType type;
    private final QueuePairAttributes asked;
    private final DeviceAttributes device;

    ConnectSteps(QueuePairType type, QueuePairAttributes asked, DeviceAttributes device) {
        EnumSet<Attribute> others = EnumSet.noneOf(Attribute.class);
        others.addAll(asked.mask());
        others.removeAll(SETTABLE);
        if (!others.isEmpty()) {
            throw new IllegalArgumentException("connecting sets " + SETTABLE + ", got " + others
                    + ": change other attributes with QueuePair.modify()");
        }
        this.type = type;
        this.asked = asked;
        this.device = device;
    }

    QueuePairAttributes toInit(int port) {
        return QueuePairAttributes.to(QueuePairState.INIT)
                .pkeyIndex(asked.pkeyIndex()) // 0 if it was not asked for
                .port(port)
                .access(access());
    }

    /** Returns the rights that the transport has: an unreliable connection has only writes. */
    private Set<AccessFlag> access() {
        EnumSet<AccessFlag> flags =
                EnumSet.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
        if (asked.has(Attribute.ACCESS_FLAGS)) {
            flags.clear();
            flags.addAll(asked.access());
        } else {
            Set<DeviceCapability> capabilities = device.capabilities();
            if (capabilities.contains(DeviceCapability.FLUSH_GLOBAL)) {
                flags.add(AccessFlag.FLUSH_GLOBAL);
            }
            if (capabilities.contains(DeviceCapability.FLUSH_PERSISTENT)) {
                flags.add(AccessFlag.FLUSH_PERSISTENT);
            }
        }
        if (type == QueuePairType.UC) {
            flags.removeAll(ONLY_RELIABLE);
        }
        return flags;
    }

    QueuePairAttributes toReadyToReceive(Endpoint peer, QueuePairAddress own) {
        QueuePairAttributes attributes = QueuePairAttributes.to(QueuePairState.RTR)
                .addressVector(asked.has(Attribute.ADDRESS_VECTOR) ? asked.addressVector() : own.pathTo(peer))
                .pathMtu(
                        asked.has(Attribute.PATH_MTU)
                                ? asked.pathMtu()
                                : own.port().activeMtu())
                .destinationQueuePair(peer.queuePairNumber())
                .receivePsn(peer.packetSequenceNumber());
        if (type != QueuePairType.UC && type != QueuePairType.XRC_SEND) {
            attributes = attributes
                    .minRnrTimerCode(RNR_TIMER)
                    .maxDestinationReadAtomic(Math.min(MOST_READS, device.maxReadAtomic()));
        }
        return attributes.overriddenBy(asked);
    }

    QueuePairAttributes toReadyToSend(QueuePairAddress own) {
        QueuePairAttributes attributes =
                QueuePairAttributes.to(QueuePairState.RTS).sendPsn(own.packetSequenceNumber());
        if (type != QueuePairType.UC) {
            attributes = attributes.timeoutCode(TIMEOUT);
        }
        if (type != QueuePairType.UC && type != QueuePairType.XRC_RECV) {
            attributes = attributes
                    .retryCount(RETRIES)
                    .rnrRetryCount(RNR_RETRIES)
                    .maxReadAtomic(Math.min(MOST_READS, device.maxInitiatedReadAtomic()));
        }
        return attributes.overriddenBy(asked);
    }
}
