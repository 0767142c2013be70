package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.WireTime;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.address.Rate;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.DeviceCapability;
import dev.verbena.verbs.device.Mtu;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.QueuePairType;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Options for connecting a queue pair: each attribute of the way from {@link QueuePairState#INIT} to
 * {@link QueuePairState#RTS}, with a default that suits most programs. Each option has a method that returns a changed
 * copy, and a method of the same name that reads it. Options never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="connect-options"}
 */
public final class ConnectOptions {
    /**
     * The value of {@link #maxReadAtomic} and {@link #maxDestinationReadAtomic} that asks for 16, or less if the device
     * allows less.
     */
    public static final int AS_DEVICE_ALLOWS = -1;

    private static final int READS_BY_DEFAULT = 16;

    /** The rights by default, told from equal ones by identity: a device gets only those of them that it has. */
    private static final Set<AccessFlag> ACCESS_BY_DEFAULT = Collections.unmodifiableSet(EnumSet.of(
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_ATOMIC,
            AccessFlag.FLUSH_GLOBAL,
            AccessFlag.FLUSH_PERSISTENT));

    private static final EnumSet<AccessFlag> ONLY_RELIABLE = EnumSet.of(
            AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC, AccessFlag.FLUSH_GLOBAL, AccessFlag.FLUSH_PERSISTENT);

    private static final ConnectOptions DEFAULTS = new ConnectOptions(new Values());

    /** All options. Nothing writes to them once they belong to a ConnectOptions. */
    private static final class Values implements Cloneable {
        private Set<AccessFlag> access = ACCESS_BY_DEFAULT;
        private int pkeyIndex;
        private @Nullable Mtu pathMtu;
        private int minRnrTimerCode = 12;
        private int timeoutCode = 14;
        private int retryCount = 6;
        private int rnrRetry = 7;
        private int maxReadAtomic = AS_DEVICE_ALLOWS;
        private int maxDestinationReadAtomic = AS_DEVICE_ALLOWS;
        private int hopLimit = 64;
        private int trafficClass;
        private int flowLabel;
        private int serviceLevel;
        private int sourcePathBits;
        private int staticRateCode;
        private boolean global;

        private Values copy() {
            try {
                return (Values) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }

        private List<@Nullable Object> all() {
            return Arrays.asList(
                    access,
                    access == ACCESS_BY_DEFAULT,
                    pkeyIndex,
                    pathMtu,
                    minRnrTimerCode,
                    timeoutCode,
                    retryCount,
                    rnrRetry,
                    maxReadAtomic,
                    maxDestinationReadAtomic,
                    hopLimit,
                    trafficClass,
                    flowLabel,
                    serviceLevel,
                    sourcePathBits,
                    staticRateCode,
                    global);
        }
    }

    private final Values values;

    private ConnectOptions(Values values) {
        this.values = values;
    }

    private ConnectOptions with(Consumer<Values> change) {
        Values copy = values.copy();
        change.accept(copy);
        return new ConnectOptions(copy);
    }

    /**
     * Returns the defaults. Peers may read, write and do atomics where a memory region lets them. A lost packet is sent
     * again 6 times, 67 ms after each other; a send waits without limit for a receive. 16 reads and atomics can be
     * under way each way, or as many as the device allows if that is less.
     *
     * @return the defaults
     */
    public static ConnectOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Returns the rights of peers ({@code qp_access_flags}).
     *
     * @return the flags, unmodifiable; by default also those of flushes, which connecting leaves out if the device has no
     *     flushes
     */
    public Set<AccessFlag> access() {
        return values.access;
    }

    /**
     * Returns a copy with other rights of peers ({@code qp_access_flags}). The memory region must allow them too. By default
     * peers may read, write, do atomics, and flush as far as the device can.
     *
     * @param flags any of {@code REMOTE_READ}, {@code REMOTE_WRITE}, {@code REMOTE_ATOMIC}, {@code FLUSH_GLOBAL} and
     *     {@code FLUSH_PERSISTENT}
     * @return a changed copy
     */
    public ConnectOptions access(Collection<AccessFlag> flags) {
        EnumSet<AccessFlag> copy = EnumSet.noneOf(AccessFlag.class);
        copy.addAll(flags);
        Set<AccessFlag> rights = flags == ACCESS_BY_DEFAULT ? ACCESS_BY_DEFAULT : Collections.unmodifiableSet(copy);
        return with(values -> values.access = rights);
    }

    /**
     * Returns the largest packet on the path ({@code path_mtu}).
     *
     * @return the size; null for the port's active MTU
     */
    public @Nullable Mtu pathMtu() {
        return values.pathMtu;
    }

    /**
     * Returns a copy with another largest packet on the path ({@code path_mtu}). Both ends must agree.
     *
     * @param mtu the size; null for the port's active MTU, the default
     * @return a changed copy
     * @throws IllegalArgumentException if the size is {@link Mtu#UNKNOWN}
     */
    public ConnectOptions pathMtu(@Nullable Mtu mtu) {
        if (mtu == Mtu.UNKNOWN) {
            throw new IllegalArgumentException("path MTU can't be UNKNOWN");
        }
        return with(values -> values.pathMtu = mtu);
    }

    /**
     * Returns the minimal RNR timer: the wait of a peer that found no receive here ({@code min_rnr_timer}).
     *
     * @return the duration, 0.01 to 655.36 ms
     */
    public Duration minRnrTimer() {
        return WireTime.receiverNotReady(values.minRnrTimerCode);
    }

    /**
     * Returns a copy with another minimal RNR timer: the wait of a peer that found no receive here
     * ({@code min_rnr_timer}).
     *
     * @param timer 0 to 655.36 ms, rounded up to the next of the wire's 32 durations; 0.64 ms by default
     * @return a changed copy
     * @throws IllegalArgumentException if the duration is negative or too long
     */
    public ConnectOptions minRnrTimer(Duration timer) {
        return minRnrTimerCode(WireTime.receiverNotReadyCode(timer));
    }

    /**
     * Returns the code of the minimal RNR timer ({@code min_rnr_timer}).
     *
     * @return the code, 0 to 31
     */
    public int minRnrTimerCode() {
        return values.minRnrTimerCode;
    }

    /**
     * Returns a copy with another minimal RNR timer, by its code ({@code min_rnr_timer}).
     *
     * @param code 0 to 31; 12 by default. See {@link QueuePairAttributes#minRnrTimerCode(int)}
     * @return a changed copy
     */
    public ConnectOptions minRnrTimerCode(int code) {
        WireTime.checkCode("minimal RNR timer code", code);
        return with(values -> values.minRnrTimerCode = code);
    }

    /**
     * Returns the wait for an acknowledgement ({@code timeout}).
     *
     * @return the duration; {@code ChronoUnit.FOREVER.getDuration()} for no limit
     */
    public Duration timeout() {
        return WireTime.acknowledgement(values.timeoutCode);
    }

    /**
     * Returns a copy with another wait for an acknowledgement ({@code timeout}). The wire knows 31 durations, 4.096 us
     * times a power of two: the duration is rounded up to the next.
     *
     * @param duration more than 0 and at most 8796 s, or {@code ChronoUnit.FOREVER.getDuration()} for no limit; 67 ms
     *     by default
     * @return a changed copy
     * @throws IllegalArgumentException if the duration is not positive or too long
     */
    public ConnectOptions timeout(Duration duration) {
        return timeoutCode(WireTime.acknowledgementCode(duration));
    }

    /**
     * Returns the code of the wait for an acknowledgement ({@code timeout}).
     *
     * @return the code, 0 to 31
     */
    public int timeoutCode() {
        return values.timeoutCode;
    }

    /**
     * Returns a copy with another wait for an acknowledgement, by its code ({@code timeout}).
     *
     * @param code 0 to 31: code c is 4.096 us times 2 to the power of c, and code 0 is no limit; 14 by default
     * @return a changed copy
     */
    public ConnectOptions timeoutCode(int code) {
        WireTime.checkCode("timeout code", code);
        return with(values -> values.timeoutCode = code);
    }

    /**
     * Returns the index of the partition key ({@code pkey_index}).
     *
     * @return the index in the port's table
     */
    public int pkeyIndex() {
        return values.pkeyIndex;
    }

    /**
     * Returns a copy with another index of the partition key ({@code pkey_index}).
     *
     * @param value the index in the port's table; 0 by default, the default partition
     * @return a changed copy
     */
    public ConnectOptions pkeyIndex(int value) {
        Checks.checkRange("partition key index", value, 0xffff);
        return with(values -> values.pkeyIndex = value);
    }

    /**
     * Returns the number of retries without an acknowledgement ({@code retry_cnt}).
     *
     * @return 0 to 7
     */
    public int retryCount() {
        return values.retryCount;
    }

    /**
     * Returns a copy with another number of retries without an acknowledgement ({@code retry_cnt}).
     *
     * @param value 0 to 7; 6 by default. On soft-RoCE, 7 is without limit
     * @return a changed copy
     */
    public ConnectOptions retryCount(int value) {
        Checks.checkRange("retry count", value, 7);
        return with(values -> values.retryCount = value);
    }

    /**
     * Returns the number of retries without a receive at the peer ({@code rnr_retry}).
     *
     * @return 0 to 7; 7 is without limit
     */
    public int rnrRetry() {
        return values.rnrRetry;
    }

    /**
     * Returns a copy with another number of retries without a receive at the peer ({@code rnr_retry}).
     *
     * @param value 0 to 7; 7 by default, which is without limit
     * @return a changed copy
     */
    public ConnectOptions rnrRetry(int value) {
        Checks.checkRange("RNR retry count", value, 7);
        return with(values -> values.rnrRetry = value);
    }

    /**
     * Returns the limit of reads and atomics under way to the peer ({@code max_rd_atomic}).
     *
     * @return 0 to 255, or {@link #AS_DEVICE_ALLOWS}
     */
    public int maxReadAtomic() {
        return values.maxReadAtomic;
    }

    /**
     * Returns a copy with another limit of reads and atomics under way to the peer ({@code max_rd_atomic}).
     *
     * @param value 0 to 255, not more than the peer's {@link #maxDestinationReadAtomic}; {@link #AS_DEVICE_ALLOWS} by
     *     default
     * @return a changed copy
     */
    public ConnectOptions maxReadAtomic(int value) {
        Checks.checkRange("limit of reads and atomics", value, AS_DEVICE_ALLOWS, 0xff);
        return with(values -> values.maxReadAtomic = value);
    }

    /**
     * Returns the limit of the peer's reads and atomics under way here ({@code max_dest_rd_atomic}).
     *
     * @return 0 to 255, or {@link #AS_DEVICE_ALLOWS}
     */
    public int maxDestinationReadAtomic() {
        return values.maxDestinationReadAtomic;
    }

    /**
     * Returns a copy with another limit of the peer's reads and atomics under way here ({@code max_dest_rd_atomic}).
     *
     * @param value 0 to 255; {@link #AS_DEVICE_ALLOWS} by default
     * @return a changed copy
     */
    public ConnectOptions maxDestinationReadAtomic(int value) {
        Checks.checkRange("limit of the peer's reads and atomics", value, AS_DEVICE_ALLOWS, 0xff);
        return with(values -> values.maxDestinationReadAtomic = value);
    }

    /**
     * Returns the number of routers that a packet can pass ({@code hop_limit}).
     *
     * @return 0 to 255
     */
    public int hopLimit() {
        return values.hopLimit;
    }

    /**
     * Returns a copy with another number of routers that a packet can pass ({@code hop_limit}). On RoCE v2 the kernel
     * takes the number from its routing table instead.
     *
     * @param value 0 to 255; 64 by default
     * @return a changed copy
     */
    public ConnectOptions hopLimit(int value) {
        Checks.checkRange("hop limit", value, 0xff);
        return with(values -> values.hopLimit = value);
    }

    /**
     * Returns the class of service ({@code traffic_class}).
     *
     * @return 8 bits
     */
    public int trafficClass() {
        return values.trafficClass;
    }

    /**
     * Returns a copy with another class of service ({@code traffic_class}).
     *
     * @param value 8 bits, on RoCE v2 the DSCP and ECN bits of the IP header; 0 by default
     * @return a changed copy
     */
    public ConnectOptions trafficClass(int value) {
        Checks.checkRange("traffic class", value, 0xff);
        return with(values -> values.trafficClass = value);
    }

    /**
     * Returns the label that keeps a flow together ({@code flow_label}).
     *
     * @return 20 bits
     */
    public int flowLabel() {
        return values.flowLabel;
    }

    /**
     * Returns a copy with another label that keeps a flow together ({@code flow_label}).
     *
     * @param value 20 bits; 0 by default
     * @return a changed copy
     */
    public ConnectOptions flowLabel(int value) {
        Checks.checkRange("flow label", value, 0xfffff);
        return with(values -> values.flowLabel = value);
    }

    /**
     * Returns the service level ({@code sl}).
     *
     * @return 0 to 15
     */
    public int serviceLevel() {
        return values.serviceLevel;
    }

    /**
     * Returns a copy with another service level ({@code sl}).
     *
     * @param value 0 to 15; 0 by default
     * @return a changed copy
     */
    public ConnectOptions serviceLevel(int value) {
        Checks.checkRange("service level", value, 15);
        return with(values -> values.serviceLevel = value);
    }

    /**
     * Returns the low bits of the own local identifier ({@code src_path_bits}).
     *
     * @return 0 to 127
     */
    public int sourcePathBits() {
        return values.sourcePathBits;
    }

    /**
     * Returns a copy with other low bits of the own local identifier ({@code src_path_bits}).
     *
     * @param value 0 to 127; 0 by default
     * @return a changed copy
     */
    public ConnectOptions sourcePathBits(int value) {
        Checks.checkRange("source path bits", value, 127);
        return with(values -> values.sourcePathBits = value);
    }

    /**
     * Returns the highest rate to send at ({@code static_rate}).
     *
     * @return the rate; {@link Rate#UNKNOWN} for a {@link #staticRateCode} that this release does not know
     */
    public Rate staticRate() {
        return Rate.of(values.staticRateCode);
    }

    /**
     * Returns a copy with another highest rate to send at ({@code static_rate}).
     *
     * @param rate the rate; {@link Rate#MAX} by default, the rate of the port
     * @return a changed copy
     * @throws IllegalArgumentException if the rate is {@link Rate#UNKNOWN}: {@link #staticRateCode(int)} takes any
     *     number
     */
    public ConnectOptions staticRate(Rate rate) {
        return staticRateCode(rate.code());
    }

    /**
     * Returns the number of the highest rate to send at ({@code enum ibv_rate}).
     *
     * @return the number; 0 for the rate of the port
     */
    public int staticRateCode() {
        return values.staticRateCode;
    }

    /**
     * Returns a copy with another highest rate to send at, by its number ({@code enum ibv_rate}).
     *
     * @param code the number, 8 bits; 0 by default, the rate of the port
     * @return a changed copy
     */
    public ConnectOptions staticRateCode(int code) {
        Checks.checkRange("static rate code", code, 0xff);
        return with(values -> values.staticRateCode = code);
    }

    /**
     * Returns true if packets always carry a global routing header ({@code is_global}).
     *
     * @return false if packets carry the header only where they need it
     */
    public boolean global() {
        return values.global;
    }

    /**
     * Returns a copy that adds a global routing header to all packets, or only where it is needed ({@code is_global}).
     * Within an InfiniBand subnet packets do not need the header; on RoCE they always carry it.
     *
     * @param always true for all packets; false by default
     * @return a changed copy
     */
    public ConnectOptions global(boolean always) {
        return with(values -> values.global = always);
    }

    QueuePairAttributes toInit(QueuePairType type, int port, DeviceAttributes device) {
        return QueuePairAttributes.to(QueuePairState.INIT)
                .pkeyIndex(values.pkeyIndex)
                .port(port)
                .access(allowed(type, device));
    }

    /** Returns the rights that the transport has: an unreliable connection has only writes. */
    private Set<AccessFlag> allowed(QueuePairType type, DeviceAttributes device) {
        EnumSet<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        flags.addAll(values.access);
        if (type == QueuePairType.UC) {
            flags.removeAll(ONLY_RELIABLE);
        }
        if (values.access == ACCESS_BY_DEFAULT) {
            Set<DeviceCapability> capabilities = device.capabilities();
            if (!capabilities.contains(DeviceCapability.FLUSH_GLOBAL)) {
                flags.remove(AccessFlag.FLUSH_GLOBAL);
            }
            if (!capabilities.contains(DeviceCapability.FLUSH_PERSISTENT)) {
                flags.remove(AccessFlag.FLUSH_PERSISTENT);
            }
        }
        return flags;
    }

    QueuePairAttributes toReadyToReceive(
            QueuePairType type, Endpoint peer, Port port, int gidIndex, DeviceAttributes device) {
        GlobalRoute route = values.global || port.needsGlobalRouting()
                ? new GlobalRoute(peer.gid(), gidIndex, values.flowLabel, values.hopLimit, values.trafficClass)
                : null;
        QueuePairAttributes attributes = QueuePairAttributes.to(QueuePairState.RTR)
                .addressVector(AddressVector.of(port.number())
                        .destinationLid(peer.lid())
                        .serviceLevel(values.serviceLevel)
                        .sourcePathBits(values.sourcePathBits)
                        .staticRateCode(values.staticRateCode)
                        .globalRoute(route))
                .pathMtu(values.pathMtu == null ? port.activeMtu() : values.pathMtu)
                .destinationQueuePair(peer.queuePairNumber())
                .receivePsn(peer.packetSequenceNumber());
        return switch (type) {
            case UC, XRC_SEND -> attributes;
            default ->
                attributes
                        .minRnrTimerCode(values.minRnrTimerCode)
                        .maxDestinationReadAtomic(orDefault(values.maxDestinationReadAtomic, device.maxReadAtomic()));
        };
    }

    QueuePairAttributes toReadyToSend(QueuePairType type, int packetSequenceNumber, DeviceAttributes device) {
        QueuePairAttributes attributes =
                QueuePairAttributes.to(QueuePairState.RTS).sendPsn(packetSequenceNumber);
        return switch (type) {
            case UC -> attributes;
            case XRC_RECV -> attributes.timeoutCode(values.timeoutCode);
            default ->
                attributes
                        .timeoutCode(values.timeoutCode)
                        .retryCount(values.retryCount)
                        .rnrRetry(values.rnrRetry)
                        .maxReadAtomic(orDefault(values.maxReadAtomic, device.maxInitiatedReadAtomic()));
        };
    }

    private static int orDefault(int wanted, int limit) {
        return wanted == AS_DEVICE_ALLOWS ? Math.min(READS_BY_DEFAULT, limit) : wanted;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ConnectOptions options && values.all().equals(options.values.all());
    }

    @Override
    public int hashCode() {
        return values.all().hashCode();
    }

    /**
     * Returns the options that people look at first, for example {@code timeout PT0.067108864S, 6 retries, 7 RNR
     * retries}.
     */
    @Override
    public String toString() {
        return "access " + values.access + ", timeout " + (values.timeoutCode == 0 ? "without limit" : timeout()) + ", "
                + values.retryCount + " retries, " + values.rnrRetry + " RNR retries, minimal RNR timer "
                + minRnrTimer()
                + (values.pathMtu == null ? "" : ", path MTU " + values.pathMtu);
    }
}
