package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.address.Gid;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.util.Random;

/**
 * A role that sends garbage to the test's machine: as UDP datagrams to RoCE's port, for the queue pair that the test names
 * and for those of the kernel; and as whole packets to the queue pair of the kernel's connection manager.
 */
final class Garbage implements Role {
    private static final int MANAGEMENT_PAIR = 1;
    private static final int MANAGEMENT_KEY = 0x80010000;
    private static final int MANAGEMENT_DATAGRAM = 256;

    private static final int ROCE_PORT = 4791;
    private static final int COUNT = 300;

    private final Random random = new Random(4791);

    @Override
    public void play(Conversation test) throws Exception {
        int victim = Integer.parseInt(test.next());
        datagrams(victim);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            management(arena);
        }
        test.say("sent");
        test.next();
    }

    private void datagrams(int victim) throws Exception {
        int[] pairs = {0, MANAGEMENT_PAIR, victim, 0xffffff};
        try (DatagramSocket socket = new DatagramSocket()) {
            for (int i = 0; i < COUNT; i++) {
                byte[] bytes = new byte[random.nextInt(1400)];
                random.nextBytes(bytes);
                if (bytes.length >= 12 && i % 3 != 0) { // a base transport header that could be real
                    int pair = pairs[i % pairs.length];
                    bytes[0] = (byte) (i % 3 == 1 ? random.nextInt(0x18) : 0x64);
                    bytes[1] = 0;
                    bytes[2] = (byte) 0xff;
                    bytes[3] = (byte) 0xff;
                    bytes[4] = 0;
                    bytes[5] = (byte) (pair >> 16);
                    bytes[6] = (byte) (pair >> 8);
                    bytes[7] = (byte) pair;
                }
                socket.send(new DatagramPacket(bytes, bytes.length, Laboratory.peer(ROCE_PORT)));
            }
        }
    }

    private void management(VerbsArena arena) throws Exception {
        Context context = TestDevice.get().open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair pair = domain.createQueuePair(QueuePair.ud(queue));
        pair.toReady(MANAGEMENT_KEY);
        MemoryRegion buffer = domain.register(arena.allocate(MANAGEMENT_DATAGRAM), AccessFlag.LOCAL_WRITE);
        AddressHandle path =
                domain.createAddressHandle(pair.pathTo(Gid.of(Laboratory.peer(0).getAddress())));
        for (int i = 0; i < COUNT; i++) {
            MemorySegment bytes = buffer.segment();
            for (long at = 0; at < MANAGEMENT_DATAGRAM; at++) {
                bytes.set(ValueLayout.JAVA_BYTE, at, (byte) random.nextInt());
            }
            if (i % 2 == 0) { // a message of the connection manager, version 2, method Send; REQ to APR
                bytes.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
                bytes.set(ValueLayout.JAVA_BYTE, 1, (byte) 7);
                bytes.set(ValueLayout.JAVA_BYTE, 2, (byte) 2);
                bytes.set(ValueLayout.JAVA_BYTE, 3, (byte) 3);
                bytes.set(ValueLayout.JAVA_BYTE, 16, (byte) 0);
                bytes.set(ValueLayout.JAVA_BYTE, 17, (byte) (0x10 + random.nextInt(12)));
            }
            pair.postSend(i, buffer.slice(0, MANAGEMENT_DATAGRAM), path, MANAGEMENT_PAIR, MANAGEMENT_KEY);
            queue.await(DEADLINE).orThrow();
        }
    }
}
