package dev.verbena.internal;

import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_context_ops;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/** A verb of the control path that C reaches through {@code ibv_context.ops}, the oldest table of functions. */
public enum OpsVerb {
    ALLOC_MW("ibv_alloc_mw", ibv_context_ops.alloc_mw$offset()),
    BIND_MW("ibv_bind_mw", ibv_context_ops.bind_mw$offset()),
    DEALLOC_MW("ibv_dealloc_mw", ibv_context_ops.dealloc_mw$offset());

    private final String verb;
    private final long offset;

    OpsVerb(String verb, long offset) {
        this.verb = verb;
        this.offset = ibv_context.ops$offset() + offset;
    }

    /** Returns the C name. */
    public String verb() {
        return verb;
    }

    /** Returns the function for a context, if its driver has it. */
    public Optional<MemorySegment> in(long context) {
        long function = MemorySegment.ofAddress(context)
                .reinterpret(ibv_context.sizeof())
                .get(ValueLayout.JAVA_LONG, offset);
        return function == 0 ? Optional.empty() : Optional.of(MemorySegment.ofAddress(function));
    }
}
