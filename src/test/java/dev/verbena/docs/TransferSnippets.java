package dev.verbena.docs;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Transfer;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Predicate;

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

    static void file(Channel channel, Path path, Duration timeout) throws IOException, InterruptedException {
        // @start region="file"
        try (FileChannel file = FileChannel.open(path)) {
            channel.offer(file, 0, file.size(), "results.dat".getBytes(StandardCharsets.UTF_8), timeout);
        }
        // @end
    }

    static void check(Transfer transfer, FileChannel file, Predicate<FileChannel> check, Duration timeout)
            throws IOException, InterruptedException {
        // @start region="check"
        transfer.fetch(file, 0, done -> {}, timeout);
        if (check.test(file)) {
            transfer.confirm();
        } else {
            transfer.refuse("The sum of the file is wrong");
        }
        // @end
    }
}
