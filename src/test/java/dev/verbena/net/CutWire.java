package dev.verbena.net;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Loopback;
import dev.verbena.support.RunTests;
import dev.verbena.support.VethWire;
import dev.verbena.support.Watchdog;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.net.NetworkInterface;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * A man in the middle of two soft-RoCE devices: carries the packets between {@code wire1} and {@code wire2} as a test wants
 * them, with right checksums. The side of {@code wire1} is the client's.
 */
final class CutWire implements AutoCloseable {
    static final int SEND = 0x04; // the whole message
    static final int WRITE = 0x0a; // the whole
    static final int READ_ANSWER = 0x10; // the whole

    private static final int IP = 14;
    private static final int UDP = IP + 20;
    private static final int BASE = UDP + 8;
    private static final int REST = BASE + 12;
    private static final int CHECKSUM_BYTES = 4;
    private static final int RELIABLE = 0x20; // opcodes from here are not those of RC

    /** A packet of RoCE v2 on its way. */
    record Packet(boolean toServer, byte[] frame) {
        private ByteBuffer bytes() {
            return ByteBuffer.wrap(frame);
        }

        boolean isReliable() {
            return frame.length >= REST + CHECKSUM_BYTES && opcode() < RELIABLE;
        }

        int opcode() {
            return Byte.toUnsignedInt(frame[BASE]);
        }

        /** Returns the number of the queue pair that it goes to. */
        int pair() {
            return bytes().getInt(BASE + 4) & 0xffffff;
        }

        int psn() {
            return bytes().getInt(BASE + 8) & 0xffffff;
        }

        /** Returns true for a message of a kind. */
        boolean is(int kind) {
            return isReliable() && opcode() == SEND && Wire.kind(MemorySegment.ofArray(rest())) == kind;
        }

        /** Returns what is between the base transport header and the checksum: further headers, and data. */
        byte[] rest() {
            int pad = frame[BASE + 1] >> 4 & 3;
            byte[] rest = new byte[frame.length - REST - CHECKSUM_BYTES - pad];
            bytes().get(REST, rest);
            return rest;
        }

        /** Returns the packet with one byte of {@link #rest} changed. */
        Packet changed(int at, int bits) {
            byte[] rest = rest();
            rest[at] ^= (byte) bits;
            return with(opcode(), psn(), rest);
        }

        /** Returns a packet between the same queue pairs. */
        Packet with(int opcode, int psn, byte[] rest) {
            int pad = -rest.length & 3;
            int length = REST + rest.length + pad + CHECKSUM_BYTES;
            byte[] made = new byte[length];
            System.arraycopy(frame, 0, made, 0, REST);
            System.arraycopy(rest, 0, made, REST, rest.length);
            ByteBuffer header = ByteBuffer.wrap(made);
            header.putShort(IP + 2, (short) (length - IP));
            header.putShort(IP + 10, (short) 0).putShort(IP + 10, (short) ipChecksum(header));
            header.putShort(UDP + 4, (short) (length - UDP));
            made[BASE] = (byte) opcode;
            made[BASE + 1] = (byte) (made[BASE + 1] & ~0x30 | pad << 4);
            header.putInt(BASE + 8, header.getInt(BASE + 8) & 0xff000000 | psn & 0xffffff);
            header.order(ByteOrder.LITTLE_ENDIAN).putInt(length - CHECKSUM_BYTES, checksum(made));
            return new Packet(toServer, made);
        }

        private static int ipChecksum(ByteBuffer header) {
            int sum = 0;
            for (int i = 0; i < 20; i += 2) {
                sum += header.getShort(IP + i) & 0xffff;
            }
            sum = (sum & 0xffff) + (sum >> 16);
            return ~(sum + (sum >> 16)) & 0xffff;
        }

        /** Returns the checksum of what does not change on the way, which anybody can compute. */
        private static int checksum(byte[] frame) {
            byte[] copy = frame.clone();
            for (int at : new int[] {IP + 1, IP + 8, IP + 10, IP + 11, UDP + 6, UDP + 7, BASE + 4}) {
                copy[at] = (byte) 0xff;
            }
            CRC32 sum = new CRC32();
            sum.update(new byte[] {-1, -1, -1, -1, -1, -1, -1, -1});
            sum.update(copy, IP, copy.length - IP - CHECKSUM_BYTES);
            return (int) sum.getValue();
        }

        boolean hasRightChecksum() {
            return bytes().order(ByteOrder.LITTLE_ENDIAN).getInt(frame.length - CHECKSUM_BYTES) == checksum(frame);
        }
    }

    /** The deed of the man in the middle. */
    interface Tampering {
        /** Returns the packets to carry on in place of one. */
        List<Packet> of(Packet packet);
    }

    static final Tampering NONE = List::of;

    private static final int PACKETS = 17; // AF_PACKET
    private static final int RAW = 3; // SOCK_RAW
    private static final int IPV4 = 0x0800; // ETH_P_IP
    private static final int ADDRESS_BYTES = 20; // sizeof(struct sockaddr_ll)
    private static final short READABLE = 1; // POLLIN
    private static final int LOOK_AGAIN_MILLISECONDS = 100;
    private static final int LARGEST = 1 << 16;

    private static final MethodHandle SOCKET = function("socket", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle BIND = function("bind", JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle POLL = function("poll", ADDRESS, JAVA_LONG, JAVA_INT);
    private static final MethodHandle READ = function("recv", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
    private static final MethodHandle WRITE_OUT = function("send", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
    private static final MethodHandle CLOSE = function("close", JAVA_INT);

    private static MethodHandle function(String name, ValueLayout... arguments) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().find(name).orElseThrow(), FunctionDescriptor.of(JAVA_INT, arguments));
    }

    private static int call(MethodHandle function, Object... arguments) {
        try {
            int result = (int) function.invokeWithArguments(arguments);
            if (result < 0) {
                throw new AssertionError(function + " failed");
            }
            return result;
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private final int client;
    private final int server;
    private final Thread thread;
    private final ByteArrayOutputStream seen = new ByteArrayOutputStream();
    private volatile Tampering tampering = NONE;
    private volatile Predicate<Packet> loss = packet -> false;
    private volatile @Nullable Throwable failure;
    private volatile boolean over;

    /** Begins to carry packets over the wire, which was {@linkplain VethWire#layCut laid}. */
    CutWire() throws IOException {
        client = open("m1");
        server = open("m2");
        thread = Thread.ofPlatform().daemon().name("wire").start(this::carry);
    }

    private static int open(String device) throws IOException {
        int made = call(SOCKET, PACKETS, RAW, Integer.reverseBytes(IPV4) >>> 16);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(ADDRESS_BYTES, 4);
            address.set(JAVA_SHORT, 0, (short) PACKETS);
            address.set(JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN), 2, (short) IPV4);
            address.set(JAVA_INT, 4, NetworkInterface.getByName(device).getIndex());
            call(BIND, made, address, ADDRESS_BYTES);
        }
        return made;
    }

    private void carry() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment waits = arena.allocate(16, 4); // two of struct pollfd
            MemorySegment memory = arena.allocate(LARGEST);
            waits.set(JAVA_INT, 0, client);
            waits.set(JAVA_INT, 8, server);
            while (!over) {
                waits.set(JAVA_SHORT, 4, READABLE);
                waits.set(JAVA_SHORT, 12, READABLE);
                call(POLL, waits, 2L, LOOK_AGAIN_MILLISECONDS);
                for (int side = 0; side < 2; side++) {
                    if ((waits.get(JAVA_SHORT, 8 * side + 6) & READABLE) != 0) {
                        carry(side == 0, memory);
                    }
                }
            }
        } catch (Throwable t) {
            failure = t;
        }
    }

    private void carry(boolean toServer, MemorySegment memory) {
        int length = call(READ, toServer ? client : server, memory, (long) LARGEST, 0);
        Packet packet = new Packet(toServer, memory.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
        if (loss.test(packet)) {
            return;
        }
        for (Packet each : packet.isReliable() ? tampering.of(packet) : List.of(packet)) {
            synchronized (seen) {
                seen.writeBytes(each.frame);
            }
            memory.copyFrom(MemorySegment.ofArray(each.frame));
            call(WRITE_OUT, toServer ? server : client, memory, (long) each.frame.length, 0);
        }
    }

    /** Changes what happens to packets from now on. */
    void tamper(Tampering changed) {
        tampering = changed;
    }

    /** Loses packets from now on, those by which connections are made too. */
    void lose(Predicate<Packet> changed) {
        loss = changed;
    }

    /** Runs the tests of a class in a process of its own, because librdmacm keeps devices open: they can't be removed. */
    static void runTests(Class<?> tests) throws Exception {
        runTests(tests, Loopback.DEADLINE.multipliedBy(4));
    }

    /** Runs the tests of a class as {@link #runTests(Class)} does, within a time. Returns their output. */
    static String runTests(Class<?> tests, Duration longest, String... properties) throws Exception {
        VethWire.layCut();
        try {
            return ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                    .option(properties)
                    .option("-D" + Watchdog.SECONDS + "=" + longest.toSeconds() * 9 / 10) // it shows where a test hangs
                    .deadline(longest)
                    .runOnClassPath(RunTests.class, "--select-class", tests.getName())
                    .successfulOutput();
        } finally {
            VethWire.remove();
        }
    }

    /** Returns all packets of both sides since the last call. */
    byte[] takeSeen() {
        synchronized (seen) {
            byte[] all = seen.toByteArray();
            seen.reset();
            return all;
        }
    }

    @Override
    public void close() {
        over = true;
        Await.until("the thread ends", () -> !thread.isAlive());
        call(CLOSE, client);
        call(CLOSE, server);
        assertThat(failure).isNull();
    }
}
