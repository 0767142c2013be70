package dev.verbena.verbs.address;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import org.jspecify.annotations.Nullable;

/**
 * A path to a peer ({@code struct ibv_ah_attr}). Each option has a method that returns a changed copy, and a method of
 * the same name that reads it. A path never changes, so all threads can use it.
 *
 * {@snippet file="ObjectSnippets.java" region="path"}
 */
public final class AddressVector extends Options<AddressVector> {
    private static final Keys<AddressVector> KEYS = new Keys<>();
    private static final Key<AddressVector, Integer> PORT = KEYS.always("port", 0);
    private static final Key<AddressVector, Integer> DESTINATION_LID = KEYS.key("LID", 0);
    private static final Key<AddressVector, Integer> SERVICE_LEVEL = KEYS.key("service level", 0);
    private static final Key<AddressVector, Integer> SOURCE_PATH_BITS = KEYS.key("source path bits", 0);
    private static final Key<AddressVector, RateCode> STATIC_RATE_CODE = KEYS.key("static rate", new RateCode(0));
    private static final Key<AddressVector, @Nullable GlobalRoute> GLOBAL_ROUTE = KEYS.key("route", null);

    /** A rate by its number, with the text of its constant. */
    private record RateCode(int value) {
        @Override
        public String toString() {
            Rate rate = Rate.of(value);
            return rate == Rate.UNKNOWN ? Integer.toString(value) : rate.toString();
        }
    }

    private AddressVector() {
        super(KEYS);
    }

    /**
     * Returns a path from a port. It has no destination yet.
     *
     * @param port the port of the own device, from 1
     * @return a path whose other options are 0, without a global route
     * @throws IllegalArgumentException if the port does not fit into 8 bits
     */
    public static AddressVector of(int port) {
        return new AddressVector().port(port);
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
        return of(port).destinationLid(lid).globalRoute(route);
    }

    /**
     * Returns the port of the own device ({@code port_num}).
     *
     * @return the port, from 1
     */
    public int port() {
        return PORT.of(this);
    }

    /**
     * Returns a copy with another port of the own device ({@code port_num}).
     *
     * @param number the port, from 1
     * @return a changed copy
     */
    public AddressVector port(int number) {
        return with(PORT, Checks.checkRange("port", number, 0xff));
    }

    /**
     * Returns the peer's local identifier ({@code dlid}).
     *
     * @return the local identifier; 0 on Ethernet
     */
    public int destinationLid() {
        return DESTINATION_LID.of(this);
    }

    /**
     * Returns a copy with another local identifier of the peer ({@code dlid}).
     *
     * @param lid the local identifier, 16 bits; 0 on Ethernet
     * @return a changed copy
     */
    public AddressVector destinationLid(int lid) {
        return with(DESTINATION_LID, Checks.checkRange("destination LID", lid, 0xffff));
    }

    /**
     * Returns the service level ({@code sl}).
     *
     * @return 0 to 15
     */
    public int serviceLevel() {
        return SERVICE_LEVEL.of(this);
    }

    /**
     * Returns a copy with another service level ({@code sl}).
     *
     * @param level 0 to 15
     * @return a changed copy
     */
    public AddressVector serviceLevel(int level) {
        return with(SERVICE_LEVEL, Checks.checkRange("service level", level, 15));
    }

    /**
     * Returns the low bits of the own local identifier ({@code src_path_bits}).
     *
     * @return 0 to 127
     */
    public int sourcePathBits() {
        return SOURCE_PATH_BITS.of(this);
    }

    /**
     * Returns a copy with other low bits of the own local identifier ({@code src_path_bits}).
     *
     * @param bits 0 to 127
     * @return a changed copy
     */
    public AddressVector sourcePathBits(int bits) {
        return with(SOURCE_PATH_BITS, Checks.checkRange("source path bits", bits, 127));
    }

    /**
     * Returns the highest rate to send at ({@code static_rate}).
     *
     * @return the rate; {@link Rate#UNKNOWN} for a {@link #staticRateCode} that this release does not know
     */
    public Rate staticRate() {
        return Rate.of(staticRateCode());
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
        return STATIC_RATE_CODE.of(this).value;
    }

    /**
     * Returns a copy with another highest rate to send at, by its number ({@code enum ibv_rate}).
     *
     * @param code the number, 8 bits; 0 for the rate of the port
     * @return a changed copy
     */
    public AddressVector staticRateCode(int code) {
        return with(STATIC_RATE_CODE, new RateCode(Checks.checkRange("static rate code", code, 0xff)));
    }

    /**
     * Returns the part of the path that crosses subnets ({@code grh}).
     *
     * @return the global route; null within an InfiniBand subnet, never on RoCE
     */
    public @Nullable GlobalRoute globalRoute() {
        return GLOBAL_ROUTE.of(this);
    }

    /**
     * Returns a copy with another global route ({@code grh} and {@code is_global}).
     *
     * @param route the global route; null for a path within an InfiniBand subnet. RoCE always needs a route
     * @return a changed copy
     */
    public AddressVector globalRoute(@Nullable GlobalRoute route) {
        return with(GLOBAL_ROUTE, route);
    }
}
