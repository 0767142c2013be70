package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_context_ops;
import dev.verbena.internal.raw.verbs_context;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Functions that C calls through a context, found in a {@code struct verbs_context} that lies in memory as a library makes
 * it: each field is the address of the field, so that no two are the same.
 */
class InlineVerbsTest {
    private static final Set<ContextVerb> IN_OPS =
            EnumSet.of(ContextVerb.ALLOC_MW, ContextVerb.BIND_MW, ContextVerb.DEALLOC_MW);
    private static final Set<ContextVerb> IN_FRONT = EnumSet.complementOf(EnumSet.copyOf(IN_OPS));

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment whole = arena.allocate(verbs_context.sizeof(), 8);
    private final long context = whole.address() + verbs_context.context$offset();
    private final MemorySegment own = whole.asSlice(verbs_context.context$offset());

    @AfterEach
    void free() {
        arena.close();
    }

    /** Fills the struct with addresses. */
    private void fill(long size) {
        for (long at = 0; at < whole.byteSize(); at += 8) {
            whole.set(ValueLayout.JAVA_LONG, at, whole.address() + at);
        }
        whole.set(ValueLayout.JAVA_LONG, verbs_context.sz$offset(), size);
        ibv_context.abi_compat(own, MemorySegment.ofAddress(-1));
    }

    @Test
    void extendedVerbsAreInFrontOfTheContext() {
        fill(verbs_context.sizeof());
        for (ContextVerb verb : IN_FRONT) {
            long found = verb.in(context).address().address();
            long field = verbs_context.layout().byteOffset(PathElement.groupElement(fieldOf(verb)));
            assertThat(found).as(verb.verb()).isEqualTo(whole.address() + field);
        }
    }

    /** The fields have the names of their functions, but for the prefix of some and the ending of one. */
    private static String fieldOf(ContextVerb verb) {
        String name = verb.verb().substring("ibv_".length());
        return switch (verb) {
            case CREATE_FLOW, DESTROY_FLOW -> "ibv_" + name;
            case QUERY_RT_VALUES -> "query_rt_values";
            default -> name;
        };
    }

    /** The struct of an older library begins later: what came after it, at its front, is other memory. */
    @Test
    void olderLibrariesLackTheFieldsInFrontOfTheirStruct() {
        for (ContextVerb verb : IN_FRONT) {
            fill(verbs_context.sizeof());
            long field = verb.in(context).address().address() - whole.address();
            long smallest = verbs_context.sizeof() - field;
            fill(smallest);
            assertThat(verb.in(context).isPresent()).as(verb.verb()).isTrue();
            fill(smallest - 1);
            assertThat(verb.in(context).isPresent()).as(verb.verb()).isFalse();
        }
    }

    @Test
    void verbsThatTheProviderLacksAreEmpty() {
        fill(verbs_context.sizeof());
        for (ContextVerb verb : IN_FRONT) {
            long field = verb.in(context).address().address() - whole.address();
            whole.set(ValueLayout.JAVA_LONG, field, 0);
            assertThat(verb.in(context).isPresent()).as(verb.verb()).isFalse();
            whole.set(ValueLayout.JAVA_LONG, field, 1);
            assertThat(verb.in(context).address()).as(verb.verb()).isEqualTo(MemorySegment.ofAddress(1));
        }
    }

    @Test
    void contextWithoutExtensionsHasNoExtendedVerbs() {
        fill(verbs_context.sizeof());
        ibv_context.abi_compat(own, MemorySegment.NULL);
        for (ContextVerb verb : IN_FRONT) {
            assertThat(verb.in(context).isPresent()).as(verb.verb()).isFalse();
        }
    }

    @Test
    void oldVerbsAreInTheTableOfTheContext() {
        fill(verbs_context.sizeof());
        for (ContextVerb verb : IN_OPS) {
            MemorySegment found = verb.in(context).address();
            long table = found.address() - context - ibv_context.ops$offset();
            assertThat(ibv_context_ops
                            .layout()
                            .byteOffset(PathElement.groupElement(verb.verb().substring(4))))
                    .as(verb.verb())
                    .isEqualTo(table);
            own.set(ValueLayout.JAVA_LONG, found.address() - context, 0);
            assertThat(verb.in(context).isPresent()).as(verb.verb()).isFalse();
            own.set(ValueLayout.JAVA_LONG, found.address() - context, 1);
            assertThat(verb.in(context).address()).as(verb.verb()).isEqualTo(MemorySegment.ofAddress(1));
        }
    }
}
