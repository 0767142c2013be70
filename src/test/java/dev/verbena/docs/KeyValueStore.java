package dev.verbena.docs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

// @start region="program"
/** A store: KeyValueStore ADDRESS PORT [SECRET-FILE] serves. Clients read its memory, and call it to change an entry. */
public final class KeyValueStore {
    static final MemoryLayout ENTRY = MemoryLayout.structLayout(
            JAVA_LONG.withName("version"), JAVA_LONG.withName("key"), MemoryLayout.sequenceLayout(48, JAVA_BYTE));
    static final VarHandle VERSION = JAVA_LONG.varHandle(); // 0 before the first put, odd during each put
    static final Duration TIMEOUT = Duration.ofSeconds(60);

    public static void main(String[] args) throws Exception {
        NodeOptions open = NodeOptions.defaults();
        NodeOptions options = args.length > 2 ? open.secret(Files.readAllBytes(Path.of(args[2]))) : open;
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(new InetSocketAddress(args[0], Integer.parseInt(args[1])), options, arena);
            MemorySegment table = arena.allocate(ENTRY, 1024);
            node.export("table", table, AccessFlag.REMOTE_READ).inTheClear(); // the network sees what is read
            node.listen((channel, put) -> { // called by one thread at a time
                long key = put.segment().get(JAVA_LONG, 0);
                MemorySegment entry = table.asSlice(ENTRY.scale(0, key & 1023), ENTRY);
                boolean taken = (long) VERSION.get(entry, 0L) != 0 && entry.get(JAVA_LONG, 8) != key;
                if (taken || put.length() != ENTRY.byteSize() - 8) {
                    throw new IllegalStateException("Another key has the entry"); // the call of the client fails
                }
                VERSION.getAndAdd(entry, 0L, 1L);
                MemorySegment.copy(put.segment(), 0, entry, 8, put.length());
                VERSION.getAndAdd(entry, 0L, 1L);
                put.reply().length(0).send();
            });
            Thread.sleep(Long.MAX_VALUE); // until the process is ended
        }
    }

    static void put(Channel server, long key, String value) throws InterruptedException {
        Message put = server.message(TIMEOUT).length(ENTRY.byteSize() - 8);
        put.segment().set(JAVA_LONG, 0, key);
        put.segment().setString(8, value);
        server.call(put, TIMEOUT).close();
    }

    static Optional<String> get(Channel server, RemoteMemory table, LocalMemory local, long key) throws Exception {
        RemoteMemory entry = table.element(ENTRY, key & 1023);
        MemorySegment found = local.segment();
        long version;
        do { // three reads, because an adapter may read the bytes of one in any order
            server.read(local.slice(0, 8), entry.slice(0, 8), TIMEOUT);
            version = found.get(JAVA_LONG, 0);
            server.read(local.slice(8, 56), entry.slice(8, 56), TIMEOUT);
            server.read(local.slice(0, 8), entry.slice(0, 8), TIMEOUT);
        } while (version % 2 != 0 || version != found.get(JAVA_LONG, 0));
        return version == 0 || found.get(JAVA_LONG, 8) != key ? Optional.empty() : Optional.of(found.getString(16));
    }
}
// @end
