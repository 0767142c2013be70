package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;

import dev.verbena.VerbsArena;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.device.Mtu;
import java.lang.foreign.ValueLayout;
import java.util.HexFormat;
import java.util.function.UnaryOperator;

/**
 * A queue pair that is connected by its endpoint, in either guest. As a role it tells its endpoint, takes that of the test
 * with a path MTU, and then tells the result of each send and receive it is asked for.
 */
final class PlainEnd implements Role, AutoCloseable {
    static final int SIZE = 4096;

    final VerbsArena arena = VerbsArena.ofShared();
    final Context context = TestDevice.get().open(arena);
    final CompletionQueue queue = context.createCompletionQueue(64);
    final MemoryRegion buffer;
    final QueuePair pair;

    PlainEnd() {
        this(options -> options);
    }

    PlainEnd(UnaryOperator<QueuePairOptions> options) {
        ProtectionDomain domain = context.allocateProtectionDomain();
        buffer = domain.register(arena.allocate(SIZE, SIZE), AccessFlag.LOCAL_WRITE);
        pair = domain.createQueuePair(options.apply(QueuePair.rc(queue)));
    }

    static String text(Endpoint endpoint) {
        return HexFormat.of().formatHex(endpoint.toBytes());
    }

    static Endpoint endpoint(String text) {
        return Endpoint.from(HexFormat.of().parseHex(text));
    }

    private static byte pattern(long index) {
        return (byte) (31 * index + 7);
    }

    /** Sends bytes of a pattern, and waits for the completion. */
    WorkCompletion send(int size) throws InterruptedException {
        for (int i = 0; i < size; i++) {
            buffer.segment().set(ValueLayout.JAVA_BYTE, i, pattern(i));
        }
        pair.postSend(1, buffer.slice(0, size));
        return queue.await(DEADLINE);
    }

    /** Waits for a message, and returns how many of its bytes are those of the pattern before the first that is not. */
    long receive() throws InterruptedException {
        WorkCompletion received = queue.await(DEADLINE).orThrow();
        long right = 0;
        while (right < received.byteLength() && buffer.segment().get(ValueLayout.JAVA_BYTE, right) == pattern(right)) {
            right++;
        }
        return right;
    }

    @Override
    public void play(Conversation test) throws Exception {
        try (this) {
            test.say(text(pair.endpoint()));
            for (String asked = test.next(); !asked.equals(PeerDriver.END); asked = test.next()) {
                String[] words = asked.split(" ");
                if (words[0].equals("connect")) {
                    pair.connect(endpoint(words[1]), QueuePairAttributes.none().pathMtu(Mtu.valueOf(words[2])));
                    pair.postReceive(1, buffer);
                    test.say("connected");
                } else if (words[0].equals("send")) {
                    test.say(send(Integer.parseInt(words[1])).status().name());
                } else {
                    test.say(String.valueOf(receive()));
                }
            }
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
