package dev.verbena.verbs;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.ibv_mw_bind;
import dev.verbena.internal.raw.ibv_mw_bind_info;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;

/**
 * Posts bindings of memory windows of {@link MemoryWindow.Type#TYPE_1} to one queue pair ({@code ibv_bind_mw}). All threads
 * may post at the same time; one binding is posted after the other.
 */
final class WindowBinding {
    private final QueuePair queuePair;
    private final PostPath path;
    private final PostedOperations log;
    private final AllowedOperations operations;
    private final Mutex posting = new Mutex();

    WindowBinding(QueuePair queuePair, PostPath path, PostedOperations log, AllowedOperations operations) {
        this.queuePair = queuePair;
        this.path = path;
        this.log = log;
        this.operations = operations;
    }

    /** Posts the binding of a window to a part of memory. */
    void bind(long id, MemoryWindow window, LocalMemory part, Collection<AccessFlag> access) {
        int flags = AccessFlag.bits(access);
        window.checkCanCover(part.region(), part, flags);
        post(id, window, part.region(), part.address(), part.length(), flags);
    }

    /** Posts the end of a binding, which is a binding to no bytes. */
    void unbind(long id, MemoryWindow window) {
        queuePair.lifetime.checkOpen();
        if (window.type() != MemoryWindow.Type.TYPE_1) {
            throw new IllegalArgumentException("A window of TYPE_2 is invalidated by its key: " + window);
        }
        // Some providers look into the region even when no bytes of it are bound, so name it.
        post(id, window, window.region(), 0, 0, 0);
    }

    private void post(long id, MemoryWindow window, MemoryRegion region, long start, long length, int access) {
        operations.check(Operation.BIND_MW);
        window.checkUsableIn(queuePair.domain);
        region.checkUsableIn(queuePair.domain);
        RequestParts named = new RequestParts(1, true);
        named.set(0, window, region);
        try (var _ = posting.held()) {
            int entered = named.enter(1);
            try {
                window.beginBinding();
                try {
                    call(id, window, region, start, length, access);
                    window.nowBound(region, start, length, access);
                } finally {
                    window.endBinding();
                }
            } finally {
                named.exit(entered);
            }
        }
    }

    private void call(long id, MemoryWindow window, MemoryRegion region, long start, long length, int access) {
        path.checkReady();
        try (Arena scratch = Arena.ofConfined();
                var _ = queuePair.lifetime.held()) {
            MemorySegment bind = ibv_mw_bind.allocate(scratch);
            ibv_mw_bind.wr_id(bind, id);
            ibv_mw_bind.send_flags(bind, SendBatch.SIGNALED);
            MemorySegment info = ibv_mw_bind.bind_info(bind);
            ibv_mw_bind_info.mr(info, MemorySegment.ofAddress(region.structure()));
            ibv_mw_bind_info.addr(info, start);
            ibv_mw_bind_info.length(info, length);
            ibv_mw_bind_info.mw_access_flags(info, access);
            CFunction function = queuePair.context.function(ContextVerb.BIND_MW);
            Failures.require(function, queuePair.toString());
            int logged = log.add(id, Operation.BIND_MW.code()); // before it can complete
            int result = (int) function.call(queuePair.address, window.address(), bind.address());
            if (result != 0) {
                log.takeBack(logged);
                throw path.failure(function.name(), Failures.errnoOf(result), 0, 1);
            }
        }
    }
}
