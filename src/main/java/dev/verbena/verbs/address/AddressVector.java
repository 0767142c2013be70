package dev.verbena.verbs.address;

import dev.verbena.internal.Checks;
import org.jspecify.annotations.Nullable;

/**
 * The path to a peer ({@code struct ibv_ah_attr}).
 *
 * @param port the own port, from 1
 * @param destinationLid the peer's local identifier; 0 on Ethernet
 * @param serviceLevel the service level, 0 to 15
 * @param sourcePathBits the low bits of the own local identifier
 * @param staticRate how fast to send at most ({@code enum ibv_rate}); 0 for as fast as the port
 * @param globalRoute the global part; null within an InfiniBand subnet, never on RoCE
 */
public record AddressVector(
        int port,
        int destinationLid,
        int serviceLevel,
        int sourcePathBits,
        int staticRate,
        @Nullable GlobalRoute globalRoute) {
    /**
     * Makes a path.
     *
     * @throws IllegalArgumentException if a number does not fit into its field
     */
    public AddressVector {
        Checks.checkRange("port", port, 0xff);
        Checks.checkRange("destination LID", destinationLid, 0xffff);
        Checks.checkRange("service level", serviceLevel, 15);
        Checks.checkRange("source path bits", sourcePathBits, 127);
        Checks.checkRange("static rate", staticRate, 0xff);
    }
}
