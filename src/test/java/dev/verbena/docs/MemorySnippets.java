package dev.verbena.docs;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import dev.verbena.net.Node;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.BufferPool;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RegistrationCache;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkCompletion;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.time.Duration;

/** Examples of registered memory. */
final class MemorySnippets {
    private MemorySnippets() {}

    static MemoryRegion register(ProtectionDomain domain) {
        // @start region="register"
        MemorySegment memory = domain.arena().allocate(4096, 64);
        MemoryRegion buffer = domain.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
        memory.setString(0, "ready to be read"); // the adapter sees the same bytes
        // @end
        return buffer;
    }

    static MemoryRegion file(ProtectionDomain domain, Path path) throws IOException {
        // @start region="file"
        MemoryRegion file;
        try (FileChannel channel = FileChannel.open(path, READ, WRITE)) {
            MemorySegment mapped = channel.map(FileChannel.MapMode.PRIVATE, 0, channel.size(), domain.arena());
            file = domain.register(mapped); // a peer receives the file without a copy in Java
        }
        // @end
        return file;
    }

    static MemoryRegion owner(Node node) {
        // @start region="owner"
        Arena theirs = Arena.ofShared(); // for a buffer of Netty: MemorySegment.ofBuffer(buf.nioBuffer()), buf::release
        MemoryRegion region = node.register(theirs.allocate(4096), theirs, AccessFlag.LOCAL_WRITE);
        // @end
        return region;
    }

    static RemoteMemory share(MemoryRegion buffer) {
        // @start region="share"
        byte[] message = buffer.slice(0, 64).remote().toBytes(); // 16 bytes: address, key and length
        RemoteMemory atPeer = RemoteMemory.from(message);
        // @end
        return atPeer;
    }

    static String pool(ProtectionDomain domain, QueuePair qp, CompletionQueue cq, Duration timeout)
            throws InterruptedException {
        // @start region="pool"
        BufferPool pool = BufferPool.of(domain, 64, 4096, AccessFlag.LOCAL_WRITE);
        BufferPool.Buffer buffer = pool.take();
        qp.postReceive(buffer.index(), buffer.memory());
        // @end
        sendHello(domain, qp);
        // @start region="pool-return"
        WorkCompletion completion = cq.await(timeout).orThrow();
        String text;
        try (BufferPool.Buffer arrived = pool.buffer((int) completion.id())) { // gives the buffer back
            text = arrived.segment().getString(0);
        }
        // @end
        return text;
    }

    /** Sends to the queue pair itself. */
    private static void sendHello(ProtectionDomain domain, QueuePair qp) {
        MemoryRegion hello = domain.register(domain.arena().allocateFrom("hello"));
        qp.sendBatch(1).send(99, hello).unsignaled().post();
    }

    static WorkCompletion cache(
            ProtectionDomain domain, QueuePair qp, CompletionQueue cq, MemorySegment segment, Duration timeout)
            throws InterruptedException {
        // @start region="cache"
        RegistrationCache cache = RegistrationCache.of(domain, 128, AccessFlag.LOCAL_WRITE);
        WorkCompletion completion;
        try (RegistrationCache.Use use = cache.use(segment)) { // registers the segment, or finds its registration
            qp.postSend(1, use.memory(segment));
            completion = cq.await(timeout).orThrow();
        }
        // @end
        return completion;
    }
}
