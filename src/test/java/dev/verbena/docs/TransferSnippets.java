package dev.verbena.docs;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Transfer;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Examples of data that is larger than a message. */
final class TransferSnippets {
    private TransferSnippets() {}

    static void sender(Channel channel, VerbsArena arena, long size, Duration timeout) throws InterruptedException {
        // @start region="sender"
        MemorySegment data = arena.allocate(size, 4096);
        channel.offer(data, "results.dat".getBytes(StandardCharsets.UTF_8), timeout);
        // @end
    }

    static MemorySegment receiver(Channel channel, VerbsArena arena, long limit, Duration timeout)
            throws InterruptedException {
        // @start region="receiver"
        try (Message message = channel.receive(timeout);
                Transfer transfer = message.transfer()) {
            if (transfer.length() > limit) {
                transfer.refuse("no room for " + transfer.length() + " bytes");
                return MemorySegment.NULL;
            }
            MemorySegment target = arena.allocate(transfer.length(), 4096);
            transfer.accept(target, done -> System.out.println(done + " bytes"), timeout);
            return target;
        }
        // @end
    }
}
