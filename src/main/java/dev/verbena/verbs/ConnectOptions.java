package dev.verbena.verbs;

import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Mtu;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.QueuePairType;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How to connect a queue pair: each attribute of the way from {@link QueuePairState#INIT} to
 * {@link QueuePairState#RTS}, with a default that suits most. Setters change this object and answer it.
 */
public final class ConnectOptions {
    private static final int AS_DEVICE_ALLOWS = -1;
    private static final int READS_BY_DEFAULT = 16;

    private Set<AccessFlag> access =
            EnumSet.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
    private int pkeyIndex;
    private @Nullable Mtu pathMtu;
    private int minRnrTimer = 12;
    private int timeout = 14;
    private int retryCount = 6;
    private int rnrRetry = 7;
    private int maxReadAtomic = AS_DEVICE_ALLOWS;
    private int maxDestinationReadAtomic = AS_DEVICE_ALLOWS;
    private int hopLimit = 64;
    private int trafficClass;
    private int flowLabel;
    private int serviceLevel;
    private int sourcePathBits;
    private int staticRate;
    private boolean global;

    private ConnectOptions() {}

    /**
     * The defaults: peers may read, write and do atomics where a memory region lets them; a lost packet is retried 6
     * times after 67 ms each, a missing receive for ever; 16 reads and atomics at a time each way, or what the device
     * can do if that is less.
     *
     * @return new options
     */
    public static ConnectOptions defaults() {
        return new ConnectOptions();
    }

    /**
     * What peers may do through the queue pair, where the memory region allows it too.
     *
     * @param flags any of {@code REMOTE_READ}, {@code REMOTE_WRITE}, {@code REMOTE_ATOMIC}; all of them if not said
     * @return this
     */
    public ConnectOptions access(Collection<AccessFlag> flags) {
        access = flags.isEmpty() ? EnumSet.noneOf(AccessFlag.class) : EnumSet.copyOf(flags);
        return this;
    }

    /**
     * The index of the partition key.
     *
     * @param index 0 if not said: the default partition
     * @return this
     */
    public ConnectOptions pkeyIndex(int index) {
        pkeyIndex = index;
        return this;
    }

    /**
     * The largest packet on the path. Both ends must agree.
     *
     * @param mtu the port's active MTU if not said
     * @return this
     */
    public ConnectOptions pathMtu(Mtu mtu) {
        pathMtu = mtu;
        return this;
    }

    /**
     * How long the peer waits when no receive is posted here.
     *
     * @param code 12 if not said, which is 0.64 ms
     * @return this
     */
    public ConnectOptions minRnrTimer(int code) {
        minRnrTimer = code;
        return this;
    }

    /**
     * How long to wait for an acknowledgement.
     *
     * @param code 4.096 us times two to this power; 14 if not said, which is 67 ms
     * @return this
     */
    public ConnectOptions timeout(int code) {
        timeout = code;
        return this;
    }

    /**
     * How often to send again when no acknowledgement comes.
     *
     * @param count 0 to 7; 6 if not said. On soft-RoCE, 7 means for ever
     * @return this
     */
    public ConnectOptions retryCount(int count) {
        retryCount = count;
        return this;
    }

    /**
     * How often to send again when the peer has no receive posted.
     *
     * @param count 0 to 7; 7 if not said, which means for ever
     * @return this
     */
    public ConnectOptions rnrRetry(int count) {
        rnrRetry = count;
        return this;
    }

    /**
     * How many reads and atomics may be under way to the peer.
     *
     * @param count 16 if not said; not more than the peer's {@link #maxDestinationReadAtomic}
     * @return this
     */
    public ConnectOptions maxReadAtomic(int count) {
        maxReadAtomic = count;
        return this;
    }

    /**
     * How many reads and atomics of the peer may be under way here.
     *
     * @param count 16 if not said
     * @return this
     */
    public ConnectOptions maxDestinationReadAtomic(int count) {
        maxDestinationReadAtomic = count;
        return this;
    }

    /**
     * How many routers a packet may pass. On RoCE v2 the kernel takes the number that its routing table has.
     *
     * @param hops 64 if not said
     * @return this
     */
    public ConnectOptions hopLimit(int hops) {
        hopLimit = hops;
        return this;
    }

    /**
     * The class of service.
     *
     * @param value 0 if not said; on RoCE v2 the DSCP and ECN bits of the IP header
     * @return this
     */
    public ConnectOptions trafficClass(int value) {
        trafficClass = value;
        return this;
    }

    /**
     * The label that keeps a flow together.
     *
     * @param label 20 bits; 0 if not said
     * @return this
     */
    public ConnectOptions flowLabel(int label) {
        flowLabel = label;
        return this;
    }

    /**
     * The service level.
     *
     * @param level 0 to 15; 0 if not said
     * @return this
     */
    public ConnectOptions serviceLevel(int level) {
        serviceLevel = level;
        return this;
    }

    /**
     * The low bits of the own local identifier.
     *
     * @param bits 0 if not said
     * @return this
     */
    public ConnectOptions sourcePathBits(int bits) {
        sourcePathBits = bits;
        return this;
    }

    /**
     * How fast to send at most.
     *
     * @param rate a number of {@code enum ibv_rate}; 0 if not said, for as fast as the port
     * @return this
     */
    public ConnectOptions staticRate(int rate) {
        staticRate = rate;
        return this;
    }

    /**
     * Whether packets carry a global routing header where they need not: within an InfiniBand subnet. On RoCE they
     * always do.
     *
     * @param always true to have them carry it
     * @return this
     */
    public ConnectOptions global(boolean always) {
        global = always;
        return this;
    }

    QueuePairAttributes toInit(QueuePairType type, int port) {
        QueuePairAttributes attributes =
                QueuePairAttributes.to(QueuePairState.INIT).pkeyIndex(pkeyIndex).port(port);
        return attributes.access(allowed(type));
    }

    /** An unreliable connection has neither reads nor atomics. */
    private Set<AccessFlag> allowed(QueuePairType type) {
        Set<AccessFlag> flags = EnumSet.copyOf(access);
        if (type == QueuePairType.UC) {
            flags.remove(AccessFlag.REMOTE_READ);
            flags.remove(AccessFlag.REMOTE_ATOMIC);
        }
        return flags;
    }

    QueuePairAttributes toReadyToReceive(
            QueuePairType type, Endpoint peer, Port port, int gidIndex, DeviceAttributes device) {
        GlobalRoute route = global || port.needsGlobalRouting()
                ? new GlobalRoute(peer.gid(), gidIndex, flowLabel, hopLimit, trafficClass)
                : null;
        QueuePairAttributes attributes = QueuePairAttributes.to(QueuePairState.RTR)
                .addressVector(
                        new AddressVector(port.number(), peer.lid(), serviceLevel, sourcePathBits, staticRate, route))
                .pathMtu(pathMtu == null ? port.activeMtu() : pathMtu)
                .destinationQueuePair(peer.queuePairNumber())
                .receivePsn(peer.packetSequenceNumber());
        return switch (type) {
            case UC, XRC_SEND -> attributes;
            default ->
                attributes
                        .minRnrTimer(minRnrTimer)
                        .maxDestinationReadAtomic(orDefault(maxDestinationReadAtomic, device.maxReadAtomic()));
        };
    }

    QueuePairAttributes toReadyToSend(QueuePairType type, int packetSequenceNumber, DeviceAttributes device) {
        QueuePairAttributes attributes =
                QueuePairAttributes.to(QueuePairState.RTS).sendPsn(packetSequenceNumber);
        return switch (type) {
            case UC -> attributes;
            case XRC_RECV -> attributes.timeout(timeout);
            default ->
                attributes
                        .timeout(timeout)
                        .retryCount(retryCount)
                        .rnrRetry(rnrRetry)
                        .maxReadAtomic(orDefault(maxReadAtomic, device.maxInitiatedReadAtomic()));
        };
    }

    private static int orDefault(int wanted, int limit) {
        return wanted == AS_DEVICE_ALLOWS ? Math.min(READS_BY_DEFAULT, limit) : wanted;
    }
}
