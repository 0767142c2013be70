package dev.verbena.verbs.address;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A path to a peer ({@code struct ibv_ah_attr}). Each option has a method that returns a changed copy, and a method of
 * the same name that reads it. A path never changes, so all threads can use it.
 *
 * {@snippet file="ObjectSnippets.java" region="path"}
 */
public final class AddressVector extends Options<AddressVector> {
    private int port;
    private int destinationLid;
    private int serviceLevel;
    private int sourcePathBits;
    private int staticRate;
    private @Nullable GlobalRoute globalRoute;

    private AddressVector(int port) {
        this.port = Checks.checkRange("port", port, 0xff);
    }

    /**
     * Returns a path from a port. It has no destination yet.
     *
     * @param port the port of the own device, from 1
     * @return a path whose other options are 0, without a global route
     * @throws IllegalArgumentException if the port does not fit into 8 bits
     */
    public static AddressVector of(int port) {
        return new AddressVector(port).frozen();
    }

    /**
     * Returns an address vector with a destination ({@code struct ibv_ah_attr}).
     *
     * @param port the number of the own port
     * @param lid the LID of the destination, 0 on Ethernet
     * @param route the global route; null for packets that stay in the subnet
     * @return the address vector
     */
    public static AddressVector of(int port, int lid, @Nullable GlobalRoute route) {
        AddressVector path = new AddressVector(port);
        path.destinationLid = Checks.checkRange("destination LID", lid, 0xffff);
        path.globalRoute = route;
        return path.frozen();
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
        return with(copy -> copy.port = Checks.checkRange("port", number, 0xff));
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
        return with(copy -> copy.destinationLid = Checks.checkRange("destination LID", lid, 0xffff));
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
        return with(copy -> copy.serviceLevel = Checks.checkRange("service level", level, 15));
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
        return with(copy -> copy.sourcePathBits = Checks.checkRange("source path bits", bits, 127));
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
        return with(copy -> copy.staticRate = Checks.checkRange("static rate code", code, 0xff));
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
        return with(copy -> copy.globalRoute = route);
    }

    @Override
    protected List<Option> options() {
        Rate rate = staticRate();
        return List.of(
                option("port", port, null),
                option("LID", destinationLid, 0),
                option("service level", serviceLevel, 0),
                option("source path bits", sourcePathBits, 0),
                option("static rate", rate == Rate.UNKNOWN ? staticRate : rate, Rate.MAX),
                option("route", globalRoute, null));
    }
}
