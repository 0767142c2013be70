package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_context_ops;
import dev.verbena.internal.raw.verbs_context;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Functions that C calls through a context, found in a {@code struct verbs_context} that lies in memory as a library makes
 * it: each field is the address of the field, so that no two are the same.
 */
class InlineVerbsTest {
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
        for (ContextVerb verb : ContextVerb.values()) {
            long found = verb.in(context).orElseThrow().address();
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
        for (ContextVerb verb : ContextVerb.values()) {
            fill(verbs_context.sizeof());
            long field = verb.in(context).orElseThrow().address() - whole.address();
            long smallest = verbs_context.sizeof() - field;
            fill(smallest);
            assertThat(verb.in(context)).as(verb.verb()).isPresent();
            fill(smallest - 1);
            assertThat(verb.in(context)).as(verb.verb()).isEmpty();
        }
    }

    @Test
    void verbsThatTheProviderLacksAreEmpty() {
        fill(verbs_context.sizeof());
        for (ContextVerb verb : ContextVerb.values()) {
            long field = verb.in(context).orElseThrow().address() - whole.address();
            whole.set(ValueLayout.JAVA_LONG, field, 0);
            assertThat(verb.in(context)).as(verb.verb()).isEmpty();
            whole.set(ValueLayout.JAVA_LONG, field, 1);
            assertThat(verb.in(context)).as(verb.verb()).contains(MemorySegment.ofAddress(1));
        }
    }

    @Test
    void contextWithoutExtensionsHasNoExtendedVerbs() {
        fill(verbs_context.sizeof());
        ibv_context.abi_compat(own, MemorySegment.NULL);
        for (ContextVerb verb : ContextVerb.values()) {
            assertThat(verb.in(context)).as(verb.verb()).isEmpty();
        }
    }

    @Test
    void oldVerbsAreInTheTableOfTheContext() {
        fill(verbs_context.sizeof());
        for (OpsVerb verb : OpsVerb.values()) {
            MemorySegment found = verb.in(context).orElseThrow();
            long table = found.address() - context - ibv_context.ops$offset();
            assertThat(ibv_context_ops
                            .layout()
                            .byteOffset(PathElement.groupElement(verb.verb().substring(4))))
                    .as(verb.verb())
                    .isEqualTo(table);
            own.set(ValueLayout.JAVA_LONG, found.address() - context, 0);
            assertThat(verb.in(context)).as(verb.verb()).isEmpty();
            own.set(ValueLayout.JAVA_LONG, found.address() - context, 1);
            assertThat(verb.in(context)).as(verb.verb()).contains(MemorySegment.ofAddress(1));
        }
    }
}
