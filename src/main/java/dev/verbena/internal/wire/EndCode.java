package dev.verbena.internal.wire;

/** The numbers of the reasons for which a channel ends. A goodbye has one of them; negative ones are never sent. */
public final class EndCode {
    public static final int CLOSED_BY_PEER = 0;
    public static final int OTHER_VERSION = 1;
    public static final int PROTOCOL_ERROR = 2;
    public static final int TOO_MANY_CHANNELS = 3;
    public static final int HANDSHAKE_TIMEOUT = 4;
    public static final int PEER_FAILED = 5;
    public static final int REFUSED = 6;
    public static final int STALLED = 7;
    public static final int WRONG_SECRET = 8;
    public static final int OTHER_PROTECTION = 9;
    public static final int TAMPERED = 10;
    public static final int ACCESS_DENIED = -1;
    public static final int UNREACHABLE = -2;
    public static final int LOST = 12;
    public static final int DEVICE_REMOVED = -3;
    public static final int FAILED = -4;

    private EndCode() {}
}
