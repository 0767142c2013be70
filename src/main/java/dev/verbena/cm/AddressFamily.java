package dev.verbena.cm;

import dev.verbena.internal.EnumCodec;

/** A family of addresses ({@code AF_*}). */
public enum AddressFamily {
    /** Any family ({@code AF_UNSPEC}). */
    ANY(0),
    /** IPv4 ({@code AF_INET}). */
    IPV4(2),
    /** IPv6 ({@code AF_INET6}). */
    IPV6(10),
    /** InfiniBand: {@link IbAddress} ({@code AF_IB}). */
    IB(27),
    /** A number that this release does not know. */
    UNKNOWN(-1);

    final int code;

    AddressFamily(int code) {
        this.code = code;
    }

    static AddressFamily of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}
