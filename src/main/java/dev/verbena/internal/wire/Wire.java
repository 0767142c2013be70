package dev.verbena.internal.wire;

import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The format of what two nodes send to each other: see the description of this package. */
public final class Wire {
    /** The version of the format. */
    public static final int VERSION = 2;

    /** The number of bytes of the header right before the bytes of each message. */
    public static final int HEADER_BYTES = 16;

    /** The number of bytes of a greeting, and so the least size of messages. */
    public static final int GREETING_BYTES = 64;

    /** The most bytes of a greeting of any version: there is room for them before the peer is admitted. */
    public static final int MAX_GREETING_BYTES = 256;

    /** The largest window. */
    public static final int MAX_WINDOW = 0xfff;

    /** The first message of a side: its version and its limits. */
    public static final int GREETING = 1;

    /** A message of the program. */
    public static final int DATA = 2;

    /** A grant of credits without a message. */
    public static final int GRANT = 3;

    /** The last message of a side. In place of the number of a call, it has the reason. */
    public static final int GOODBYE = 4;

    /** A request of the program, with the number of the call. */
    public static final int CALL = 5;

    /** The reply to a request, with the number of the call. It takes no credit. */
    public static final int REPLY = 6;

    /** A failure to answer a request, with the number of the call and a text. It takes no credit. */
    public static final int FAULT = 7;

    /** A question for the export with a name, with the number of a call. The reply has {@link #EXPORT_BYTES}. */
    public static final int LOOKUP = 8;

    /**
     * An offer of data, with the number of a call. Its last {@link #EXPORT_BYTES} describe the memory. The reply comes when
     * the data was read.
     */
    public static final int OFFER = 9;

    /**
     * The receiver of an offer asks for the next piece, with the number of the offer's call. It comes in the receive for the
     * reply. Only on sealed channels.
     */
    public static final int PULL = 10;

    /** A piece is ready to be read, with the number of the offer's call. A side keeps a receive for each call for it. */
    public static final int PIECE = 11;

    /** In place of a piece: the offer was taken back. */
    public static final int WITHDRAWN = 12;

    /** A notice that the sender has written memory before, with a number of {@link #NOTICE_BYTES} for the program. */
    public static final int NOTICE = 13;

    public static final int NOTICE_BYTES = Long.BYTES;

    /** The number of bytes that describe an export or an offer: its memory in the wide form. */
    public static final int EXPORT_BYTES = RemoteMemory.WIDE_BYTES;

    /** The largest number of bytes of a token. */
    public static final int MAX_TOKEN = 40;

    /** The code of a goodbye over TCP to a side that connects only if its peer has no RDMA. */
    public static final int USE_RDMA = 11;

    /** The number of bytes of a channel's name. */
    public static final int NAME_BYTES = 16;

    /** The largest number of addresses of a side in a claim. */
    public static final int MAX_PATHS = 4;

    // A claim: the name, and then the number of the device, that of the devices, that of the addresses, and the
    // addresses
    private static final long DEVICE_AT = NAME_BYTES;
    private static final long DEVICES_AT = NAME_BYTES + 1;
    private static final int PATHS_AT = NAME_BYTES + 3;

    /** The number of bytes of an address in a claim: that of IPv6, and the port. */
    private static final int PATH_BYTES = 18;

    /** The bytes before an address of IPv4. */
    private static final byte[] MAPPED = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (byte) 0xff, (byte) 0xff};

    private static final int MAGIC = 0x5642_4e41; // "VBNA"

    /** The layout of numbers of 4 bytes. */
    public static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    /** The layout of numbers of 8 bytes. */
    public static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    /** The place of the length in the description of memory. */
    public static final long LENGTH_IN_EXPORT = 12;

    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private static final long VERSION_AT = 4;
    private static final long PROTECTION_AT = 5;
    private static final long TRANSPORT_AT = 6;
    private static final long FLAGS_AT = 7;
    private static final byte ASKS = 1;
    private static final byte HEALS = 2;
    private static final byte RESUMES = 4;
    private static final long WINDOW_AT = 8;
    private static final long SIZE_AT = 12;
    private static final long CALLS_AT = 16;
    private static final long TOKEN_LENGTH_AT = 20;
    private static final long TOKEN_AT = 24;

    private Wire() {}

    // The header of a message

    // It has two halves: kind, call and granted; sequence and received. With one access to each, methods are inlined.
    private static final long TOTALS_AT = 8;
    private static final int KIND_SHIFT = 24;

    /**
     * Writes a header. All numbers but the kind and the call are totals of the connection, so that a message which is lost
     * or comes twice does no harm.
     *
     * @param message memory that begins with the header
     * @param call the number of the call, or the reason of a goodbye
     * @param granted the number of credits that the sender has granted
     * @param sequence the number of counted messages that the sender has sent, with this one
     * @param received the number of counted messages that the sender has received
     */
    public static void writeHeader(MemorySegment message, int kind, int call, int granted, int sequence, int received) {
        message.set(LONG, 0, half(kind << KIND_SHIFT | call, granted));
        message.set(LONG, TOTALS_AT, half(sequence, received));
    }

    private static long half(int first, int second) {
        return (long) first << Integer.SIZE | (second & 0xffff_ffffL);
    }

    /** Returns the kind of a message; -1 if bytes are set that no kind has. */
    public static int kind(MemorySegment message) {
        int first = (int) (message.get(LONG, 0) >>> Integer.SIZE);
        return (first & 0xff_0000) == 0 ? first >>> KIND_SHIFT : -1;
    }

    public static int call(MemorySegment message) {
        return (int) (message.get(LONG, 0) >>> Integer.SIZE) & 0xffff;
    }

    public static int granted(MemorySegment message) {
        return (int) message.get(LONG, 0);
    }

    public static int sequence(MemorySegment message) {
        return sequence(sequenceAndReceived(message));
    }

    public static int received(MemorySegment message) {
        return received(sequenceAndReceived(message));
    }

    /** Returns both numbers, with one access. */
    static long sequenceAndReceived(MemorySegment message) {
        return message.get(LONG, TOTALS_AT);
    }

    static int sequence(long both) {
        return (int) (both >>> Integer.SIZE);
    }

    static int received(long both) {
        return (int) both;
    }

    /** Returns true for a message that has a sequence number of its own. The others repeat that of the last one. */
    public static boolean isCounted(int kind) {
        return kind != GREETING && kind != GRANT && kind != GOODBYE;
    }

    // The greeting

    /**
     * The limits of a side.
     *
     * @param window the number of messages that the side has receives for
     * @param messageSize the largest number of bytes of a message to that side
     * @param calls the number of calls that the side answers at once
     * @param token the bytes by which the peer's program may know this side
     * @param claim the channel, if the side can go on with it over another connection; else null
     */
    @SuppressWarnings("ArrayRecordComponent") // is never compared
    public record Greeting(
            int window,
            int messageSize,
            int calls,
            byte[] token,
            @Nullable Claim claim) {
        /** Returns the number of bytes in the clear. */
        public int bytes() {
            return claim == null ? GREETING_BYTES : GREETING_BYTES + claim.bytes();
        }

        /** Writes this greeting in the clear, with its claim. */
        public void writeWholeTo(MemorySegment message) {
            writeTo(message);
            if (claim != null) {
                claim.writeTo(message.asSlice(GREETING_BYTES));
            }
        }

        /** Writes this greeting. The rest of the bytes is zero. */
        public void writeTo(MemorySegment message) {
            message.asSlice(0, GREETING_BYTES).fill((byte) 0);
            message.set(INT, 0, MAGIC);
            message.set(ValueLayout.JAVA_BYTE, VERSION_AT, (byte) VERSION);
            message.set(INT, WINDOW_AT, window);
            message.set(INT, SIZE_AT, messageSize);
            message.set(INT, CALLS_AT, calls);
            message.set(INT, TOKEN_LENGTH_AT, token.length);
            MemorySegment.copy(token, 0, message, ValueLayout.JAVA_BYTE, TOKEN_AT, token.length);
            if (claim != null) {
                flag(message, claim.resumes ? HEALS | RESUMES : HEALS);
            }
        }
    }

    /**
     * A claim of a side to a channel that can outlive its connection. It follows the greeting.
     *
     * @param resumes true to go on with the channel, false to begin it
     * @param id the name of the channel: bytes that the side which connects has chosen at random
     * @param own what this side says of itself
     */
    public record Claim(boolean resumes, UUID id, Place own) {
        /** Returns the number of bytes. */
        public int bytes() {
            return PATHS_AT + own.paths.size() * PATH_BYTES;
        }

        void writeTo(MemorySegment to) {
            writeName(id, to);
            to.set(ValueLayout.JAVA_BYTE, DEVICE_AT, (byte) own.device);
            to.set(ValueLayout.JAVA_BYTE, DEVICES_AT, (byte) own.devices);
            to.set(ValueLayout.JAVA_BYTE, PATHS_AT - 1, (byte) own.paths.size());
            long at = PATHS_AT;
            for (InetSocketAddress path : own.paths) {
                MemorySegment.copy(wide(path.getAddress()), 0, to, ValueLayout.JAVA_BYTE, at, PATH_BYTES - Short.BYTES);
                to.set(SHORT, at + PATH_BYTES - Short.BYTES, (short) path.getPort());
                at += PATH_BYTES;
            }
        }

        public byte[] toBytes() {
            byte[] bytes = new byte[bytes()];
            writeTo(MemorySegment.ofArray(bytes));
            return bytes;
        }

        /** Returns what the other side says of the same channel. */
        public Claim answeredBy(Place other) {
            return new Claim(resumes, id, other);
        }

        /** Returns true if both sides speak of the same channel. */
        public boolean isOf(@Nullable Claim other) {
            return other != null && resumes == other.resumes && id.equals(other.id);
        }

        /** Reads the claim of a greeting, which its memory follows; null if there is none, or if it is malformed. */
        public static @Nullable Claim of(MemorySegment greeting, MemorySegment claim) {
            Place own = heals(greeting) && claim.byteSize() >= PATHS_AT ? Place.in(claim) : null;
            return own == null ? null : new Claim(Wire.resumes(greeting), name(claim), own);
        }
    }

    /**
     * The place of a connection at one of its sides.
     *
     * @param device the number of the device
     * @param devices the number of devices whose keys differ
     * @param paths the addresses of the node, if it has several
     */
    public record Place(int device, int devices, List<InetSocketAddress> paths) {
        /** The place of a node with one address. */
        public static final Place ONE = new Place(0, 1, List.of());

        private static @Nullable Place in(MemorySegment claim) {
            int device = claim.get(ValueLayout.JAVA_BYTE, DEVICE_AT);
            int devices = claim.get(ValueLayout.JAVA_BYTE, DEVICES_AT);
            int count = claim.get(ValueLayout.JAVA_BYTE, PATHS_AT - 1);
            boolean isRight = device >= 0
                    && device < devices
                    && devices <= MAX_PATHS
                    && count >= 0
                    && count <= MAX_PATHS
                    && claim.byteSize() >= PATHS_AT + (long) count * PATH_BYTES;
            if (!isRight) {
                return null;
            }
            List<InetSocketAddress> paths = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                MemorySegment path = claim.asSlice(PATHS_AT + (long) i * PATH_BYTES, PATH_BYTES);
                paths.add(new InetSocketAddress(
                        address(path.asSlice(0, PATH_BYTES - Short.BYTES)),
                        Short.toUnsignedInt(path.get(SHORT, PATH_BYTES - Short.BYTES))));
            }
            return new Place(device, devices, List.copyOf(paths));
        }
    }

    /** Writes the name of a channel. */
    public static void writeName(UUID id, MemorySegment to) {
        to.set(LONG, 0, id.getMostSignificantBits());
        to.set(LONG, Long.BYTES, id.getLeastSignificantBits());
    }

    public static UUID name(MemorySegment from) {
        return new UUID(from.get(LONG, 0), from.get(LONG, Long.BYTES));
    }

    /** Returns the 16 bytes of an address: one of IPv4 is mapped. */
    private static byte[] wide(InetAddress address) {
        byte[] bytes = address.getAddress();
        if (bytes.length == PATH_BYTES - Short.BYTES) {
            return bytes;
        }
        byte[] mapped = Arrays.copyOf(MAPPED, MAPPED.length + bytes.length);
        System.arraycopy(bytes, 0, mapped, MAPPED.length, bytes.length);
        return mapped;
    }

    private static InetAddress address(MemorySegment bytes) {
        try {
            return InetAddress.getByAddress(bytes.toArray(ValueLayout.JAVA_BYTE));
        } catch (UnknownHostException never) { // 16 bytes are one
            throw new AssertionError(never);
        }
    }

    private static void flag(MemorySegment greeting, int flags) {
        byte before = greeting.get(ValueLayout.JAVA_BYTE, FLAGS_AT);
        greeting.set(ValueLayout.JAVA_BYTE, FLAGS_AT, (byte) (before | flags));
    }

    private static boolean has(MemorySegment greeting, int flag) {
        return (greeting.get(ValueLayout.JAVA_BYTE, FLAGS_AT) & flag) != 0;
    }

    /** Returns true if the side can go on with the channel over another connection. */
    static boolean heals(MemorySegment greeting) {
        return has(greeting, HEALS);
    }

    /** Returns true if the side goes on with a channel that has lost its connection. */
    public static boolean resumes(MemorySegment greeting) {
        return has(greeting, RESUMES);
    }

    /** Notes the codes of the protection of a side, and of its transport, in a greeting under a secret. */
    public static void protect(MemorySegment greeting, int protection, int transport) {
        greeting.set(ValueLayout.JAVA_BYTE, PROTECTION_AT, (byte) protection);
        greeting.set(ValueLayout.JAVA_BYTE, TRANSPORT_AT, (byte) transport);
    }

    /** Returns the code of the protection in a greeting. */
    public static int protection(MemorySegment greeting) {
        return greeting.get(ValueLayout.JAVA_BYTE, PROTECTION_AT);
    }

    /** Returns the code of the transport in a greeting under a secret. */
    public static int transport(MemorySegment greeting) {
        return greeting.get(ValueLayout.JAVA_BYTE, TRANSPORT_AT);
    }

    /** Notes in a greeting that its side connects only if the peer has no RDMA. */
    public static void ask(MemorySegment greeting) {
        flag(greeting, ASKS);
    }

    /** Returns true if a greeting says that its side connects only if the peer has no RDMA. */
    public static boolean asks(MemorySegment greeting) {
        return has(greeting, ASKS);
    }

    /** Returns the version in a greeting; -1 if the bytes are no greeting. */
    public static int version(MemorySegment message) {
        return message.byteSize() < GREETING_BYTES || message.get(INT, 0) != MAGIC
                ? -1
                : Byte.toUnsignedInt(message.get(ValueLayout.JAVA_BYTE, VERSION_AT));
    }

    /**
     * Reads a greeting of this version.
     *
     * @return the greeting; null if a limit is out of range
     */
    public static @Nullable Greeting readGreeting(MemorySegment message) {
        int window = message.get(INT, WINDOW_AT);
        int size = message.get(INT, SIZE_AT);
        int calls = message.get(INT, CALLS_AT);
        int tokenLength = message.get(INT, TOKEN_LENGTH_AT);
        boolean inRange = window >= 1
                && window <= MAX_WINDOW
                && size >= GREETING_BYTES
                && calls >= 0
                && calls <= MAX_WINDOW
                && tokenLength >= 0
                && tokenLength <= MAX_TOKEN;
        return inRange
                ? new Greeting(
                        window,
                        size,
                        calls,
                        message.asSlice(TOKEN_AT, tokenLength).toArray(ValueLayout.JAVA_BYTE),
                        Claim.of(message, message.asSlice(GREETING_BYTES)))
                : null;
    }
}
