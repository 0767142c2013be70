package dev.verbena.docs;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Export;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Examples of memory that peers read. */
final class ExportSnippets {
    private static final MemoryLayout ENTRY = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("key"), MemoryLayout.sequenceLayout(56, ValueLayout.JAVA_BYTE));

    private ExportSnippets() {}

    static Export export(Node node, VerbsArena arena) {
        // @start region="export"
        MemorySegment table = arena.allocate(ENTRY, 1000);
        Export export = node.export("table", table, AccessFlag.REMOTE_READ);
        // @end
        return export;
    }

    static void acceptAll(Node node, MemorySegment counters) {
        // @start region="acceptAll"
        node.export("counters", counters, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
        node.acceptAll(); // the node's thread does all that is left to do
        // @end
    }

    static long read(Node node, Channel channel, VerbsArena arena, long index, Duration timeout)
            throws InterruptedException {
        // @start region="read"
        RemoteMemory table = channel.remote("table", timeout); // once
        LocalMemory entry = node.register(arena.allocate(ENTRY), AccessFlag.LOCAL_WRITE); // once
        channel.read(entry, table.element(ENTRY, index), timeout);
        // @end
        return entry.segment().get(ValueLayout.JAVA_LONG, 0);
    }

    static void ticket(Node node, Channel channel, LocalMemory entry, RemoteMemory from) throws InterruptedException {
        // @start region="ticket"
        long ticket = channel.tryRead(entry, from);
        while (ticket == 0) {
            node.progress();
            ticket = channel.tryRead(entry, from);
        }
        while (!channel.isDone(ticket)) {
            node.progress();
        }
        channel.await(ticket, Duration.ZERO); // ends the ticket
        // @end
    }

    static void notify(Channel writer, LocalMemory entries, RemoteMemory table, long index, Duration timeout)
            throws InterruptedException {
        // @start region="notify"
        writer.writeAndNotify(entries, table.element(ENTRY, index), index, timeout);
        // @end
    }

    static long notified(Channel reader, MemorySegment table, Duration timeout) throws InterruptedException {
        // @start region="notified"
        try (Message message = reader.receive(timeout)) {
            long index = message.notice();
            return table.get(ValueLayout.JAVA_LONG, index * ENTRY.byteSize()); // the writer's data is there
        }
        // @end
    }

    static CompletableFuture<Long> future(Channel channel, LocalMemory entry, RemoteMemory from) {
        // @start region="future"
        return channel.readAsync(entry, from).thenApply(done -> entry.segment().get(ValueLayout.JAVA_LONG, 0));
        // @end
    }
}
