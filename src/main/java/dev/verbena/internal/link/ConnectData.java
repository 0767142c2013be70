package dev.verbena.internal.link;

import dev.verbena.cm.PrivateData;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.device.Mtu;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The private data of the connection manager: what a request to connect says before there is a connection, and what a
 * rejection says. Most requests have none.
 */
public final class ConnectData {
    private static final int MARK_BYTES = 6;
    private static final byte[] REFUSAL = {'V', 'B', 'N', 'A', Wire.VERSION, 0};

    /** The beginning of a request to go on with a channel, whose name follows. */
    private static final byte[] CLAIM = {'V', 'B', 'N', 'A', Wire.VERSION, 1};

    /** Precedes the limit of a packet's payload, a number of C. In a request, this follows the name. */
    private static final byte[] LIMIT = {'V', 'B', 'N', 'A', Wire.VERSION, 2};

    private static final int CLAIM_BYTES = MARK_BYTES + Wire.NAME_BYTES;

    private ConnectData() {}

    private static boolean isAt(int at, byte[] mark, byte[] bytes, int more) {
        return bytes.length >= at + MARK_BYTES + more && Arrays.equals(bytes, at, at + MARK_BYTES, mark, 0, MARK_BYTES);
    }

    /**
     * Returns the data of a request.
     *
     * @param channel the name of the channel that goes on; null if a channel begins
     * @param limit the limit of a packet's payload; null for none
     */
    static PrivateData request(@Nullable UUID channel, @Nullable Mtu limit) {
        byte[] data = {};
        if (channel != null) {
            data = Arrays.copyOf(CLAIM, CLAIM_BYTES);
            Wire.writeName(channel, MemorySegment.ofArray(data).asSlice(MARK_BYTES));
        }
        return limit == null ? PrivateData.of(data) : limit(data, limit);
    }

    /** Returns the data of a rejection that tells a limit. */
    static PrivateData limit(Mtu limit) {
        return limit(new byte[0], limit);
    }

    private static PrivateData limit(byte[] before, Mtu limit) {
        byte[] data = Arrays.copyOf(before, before.length + MARK_BYTES + 1);
        System.arraycopy(LIMIT, 0, data, before.length, MARK_BYTES);
        data[data.length - 1] = (byte) limit.code();
        return PrivateData.of(data);
    }

    /** Returns the data of a rejection with a code. */
    static PrivateData refusal(int code) {
        byte[] data = REFUSAL.clone();
        data[MARK_BYTES - 1] = (byte) code;
        return PrivateData.of(data);
    }

    /** Returns the name of the channel with which a peer goes on; null in other data. */
    static @Nullable UUID channel(PrivateData data) {
        byte[] bytes = data.toBytes();
        return isAt(0, CLAIM, bytes, Wire.NAME_BYTES)
                ? Wire.name(MemorySegment.ofArray(bytes).asSlice(MARK_BYTES))
                : null;
    }

    /** Returns the limit that a request or a rejection tells; null if it tells none. */
    static @Nullable Mtu limit(PrivateData data) {
        byte[] bytes = data.toBytes();
        int at = isAt(0, CLAIM, bytes, Wire.NAME_BYTES) ? CLAIM_BYTES : 0;
        Mtu told = isAt(at, LIMIT, bytes, 1) ? Mtu.of(bytes[at + MARK_BYTES]) : Mtu.UNKNOWN;
        return told == Mtu.UNKNOWN ? null : told;
    }

    /** Returns the code in the private data of a node that refuses; null for others. */
    public static @Nullable Integer refusal(PrivateData data) {
        byte[] bytes = data.toBytes();
        for (int i = 0; i < MARK_BYTES - 2; i++) {
            if (i >= bytes.length || bytes[i] != REFUSAL[i]) {
                return null;
            }
        }
        return bytes.length < MARK_BYTES ? null : Byte.toUnsignedInt(bytes[MARK_BYTES - 1]);
    }
}
