package dev.verbena.cm;

import dev.verbena.NativeValue;

/** A family of addresses ({@code AF_*}). */
public enum AddressFamily implements NativeValue {
    /** Any family ({@code AF_UNSPEC}). */
    ANY(0, "AF_UNSPEC"),
    /** IPv4 ({@code AF_INET}). */
    IPV4(2, "AF_INET"),
    /** IPv6 ({@code AF_INET6}). */
    IPV6(10, "AF_INET6"),
    /** InfiniBand: {@link IbAddress} ({@code AF_IB}). */
    IB(27, "AF_IB"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private final int code;
    private final String cName;

    AddressFamily(int code, String cName) {
        this.code = code;
        this.cName = cName;
    }

    @Override
    public int code() {
        return code;
    }

    @Override
    public String cName() {
        return cName;
    }

    static AddressFamily of(int code) {
        return NativeValue.find(values(), code, UNKNOWN);
    }
}
