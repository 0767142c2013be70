package dev.verbena.verbs.address;

import dev.verbena.internal.Checks;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A path to a peer ({@code struct ibv_ah_attr}). Each option has a method that returns a changed copy, and a method of
 * the same name that reads it. A path never changes, so all threads can use it.
 *
 * {@snippet file="ObjectSnippets.java" region="path"}
 */
public final class AddressVector {
    private final int port;
    private final int destinationLid;
    private final int serviceLevel;
    private final int sourcePathBits;
    private final int staticRate;
    private final @Nullable GlobalRoute globalRoute;

    private AddressVector(
            int port,
            int destinationLid,
            int serviceLevel,
            int sourcePathBits,
            int staticRate,
            @Nullable GlobalRoute globalRoute) {
        Checks.checkRange("port", port, 0xff);
        Checks.checkRange("destination LID", destinationLid, 0xffff);
        Checks.checkRange("service level", serviceLevel, 15);
        Checks.checkRange("source path bits", sourcePathBits, 127);
        Checks.checkRange("static rate code", staticRate, 0xff);
        this.port = port;
        this.destinationLid = destinationLid;
        this.serviceLevel = serviceLevel;
        this.sourcePathBits = sourcePathBits;
        this.staticRate = staticRate;
        this.globalRoute = globalRoute;
    }

    /**
     * Returns a path from a port. It has no destination yet.
     *
     * @param port the port of the own device, from 1
     * @return a path whose other options are 0, without a global route
     * @throws IllegalArgumentException if the port does not fit into 8 bits
     */
    public static AddressVector of(int port) {
        return new AddressVector(port, 0, 0, 0, 0, null);
    }

    /**
     * Returns the port of the own device ({@code port_num}).
     *
     * @return the port, from 1
     */
    public int port() {
        return port;
    }

    /**
     * Returns a copy with another port of the own device ({@code port_num}).
     *
     * @param number the port, from 1
     * @return a changed copy
     */
    public AddressVector port(int number) {
        return new AddressVector(number, destinationLid, serviceLevel, sourcePathBits, staticRate, globalRoute);
    }

    /**
     * Returns the peer's local identifier ({@code dlid}).
     *
     * @return the local identifier; 0 on Ethernet
     */
    public int destinationLid() {
        return destinationLid;
    }

    /**
     * Returns a copy with another local identifier of the peer ({@code dlid}).
     *
     * @param lid the local identifier, 16 bits; 0 on Ethernet
     * @return a changed copy
     */
    public AddressVector destinationLid(int lid) {
        return new AddressVector(port, lid, serviceLevel, sourcePathBits, staticRate, globalRoute);
    }

    /**
     * Returns the service level ({@code sl}).
     *
     * @return 0 to 15
     */
    public int serviceLevel() {
        return serviceLevel;
    }

    /**
     * Returns a copy with another service level ({@code sl}).
     *
     * @param level 0 to 15
     * @return a changed copy
     */
    public AddressVector serviceLevel(int level) {
        return new AddressVector(port, destinationLid, level, sourcePathBits, staticRate, globalRoute);
    }

    /**
     * Returns the low bits of the own local identifier ({@code src_path_bits}).
     *
     * @return 0 to 127
     */
    public int sourcePathBits() {
        return sourcePathBits;
    }

    /**
     * Returns a copy with other low bits of the own local identifier ({@code src_path_bits}).
     *
     * @param bits 0 to 127
     * @return a changed copy
     */
    public AddressVector sourcePathBits(int bits) {
        return new AddressVector(port, destinationLid, serviceLevel, bits, staticRate, globalRoute);
    }

    /**
     * Returns the highest rate to send at ({@code static_rate}).
     *
     * @return the rate; {@link Rate#UNKNOWN} for a {@link #staticRateCode} that this release does not know
     */
    public Rate staticRate() {
        return Rate.of(staticRate);
    }

    /**
     * Returns a copy with another highest rate to send at ({@code static_rate}).
     *
     * @param rate the rate; {@link Rate#MAX} for the rate of the port
     * @return a changed copy
     * @throws IllegalArgumentException if the rate is {@link Rate#UNKNOWN}: {@link #staticRateCode(int)} takes any
     *     number
     */
    public AddressVector staticRate(Rate rate) {
        return staticRateCode(rate.code());
    }

    /**
     * Returns the number of the highest rate to send at ({@code enum ibv_rate}).
     *
     * @return the number; 0 for the rate of the port
     */
    public int staticRateCode() {
        return staticRate;
    }

    /**
     * Returns a copy with another highest rate to send at, by its number ({@code enum ibv_rate}).
     *
     * @param code the number, 8 bits; 0 for the rate of the port
     * @return a changed copy
     */
    public AddressVector staticRateCode(int code) {
        return new AddressVector(port, destinationLid, serviceLevel, sourcePathBits, code, globalRoute);
    }

    /**
     * Returns the part of the path that crosses subnets ({@code grh}).
     *
     * @return the global route; null within an InfiniBand subnet, never on RoCE
     */
    public @Nullable GlobalRoute globalRoute() {
        return globalRoute;
    }

    /**
     * Returns a copy with another global route ({@code grh} and {@code is_global}).
     *
     * @param route the global route; null for a path within an InfiniBand subnet. RoCE always needs a route
     * @return a changed copy
     */
    public AddressVector globalRoute(@Nullable GlobalRoute route) {
        return new AddressVector(port, destinationLid, serviceLevel, sourcePathBits, staticRate, route);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof AddressVector path
                && port == path.port
                && destinationLid == path.destinationLid
                && serviceLevel == path.serviceLevel
                && sourcePathBits == path.sourcePathBits
                && staticRate == path.staticRate
                && Objects.equals(globalRoute, path.globalRoute);
    }

    @Override
    public int hashCode() {
        return Objects.hash(port, destinationLid, serviceLevel, sourcePathBits, staticRate, globalRoute);
    }

    /** Returns the options that are not 0, for example {@code port 1, LID 7, static rate GBPS_10}. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("port ").append(port);
        if (destinationLid != 0) {
            text.append(", LID ").append(destinationLid);
        }
        if (serviceLevel != 0) {
            text.append(", service level ").append(serviceLevel);
        }
        if (sourcePathBits != 0) {
            text.append(", source path bits ").append(sourcePathBits);
        }
        if (staticRate != 0) {
            Rate rate = staticRate();
            text.append(", static rate ").append(rate == Rate.UNKNOWN ? staticRate : rate);
        }
        if (globalRoute != null) {
            text.append(", ").append(globalRoute);
        }
        return text.toString();
    }
}
