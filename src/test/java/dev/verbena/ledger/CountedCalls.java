package dev.verbena.ledger;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Memory;
import dev.verbena.internal.NativeLibraries;
import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_qp_ex;
import dev.verbena.internal.raw.verbs_context;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/**
 * A program for {@code ChildJvm}, to be started with {@link CallHooks} in the library's classes and with libc in the place of
 * {@code libibverbs}: calls functions of libc in each way in which the library calls C, then prints the counts.
 */
final class CountedCalls {
    private CountedCalls() {}

    public static void main(String[] args) {
        try (Arena arena = Arena.ofConfined()) {
            byName();
            byAddress(arena);
            throughStruct(arena);
            throughContext(arena);
        }
        Throwable[] failures = {
            new VerbsException("ibv_reg_mr", "", 12, ""),
            new VerbsException("ibv_poll_cq", "", 0, "no error number"),
            new UnsupportedVerbException("ibv_alloc_dm", "", 0, "not here")
        };
        for (Map.Entry<String, Calls.Count> entry : Calls.all().entrySet()) {
            Calls.Count count = entry.getValue();
            System.out.println(entry.getKey() + " made " + count.made() + " failed " + count.failed()
                    + (count.refusal() == null
                            ? ""
                            : " unsupported " + count.refusal().unsupported()));
        }
        System.out.println(failures.length + " exceptions");
    }

    private static void byName() {
        CFunction absolute = new CFunction(NativeLibraries.VERBS, "isalpha");
        for (int i = 0; i < 3; i++) {
            absolute.call('a');
        }
    }

    private static void byAddress(Arena arena) {
        Memory.fill(arena.allocate(Long.BYTES).address(), Long.BYTES, (byte) 0);
        try {
            CFunction.at("isdigit", libc("isdigit")).call('1');
        } catch (AssertionError unknown) {
            System.out.println("refused: " + unknown.getMessage());
        }
    }

    private static void throughStruct(Arena arena) {
        MemorySegment queuePair = arena.allocate(ibv_qp_ex.layout());
        ibv_qp_ex.wr_start(queuePair, libc("toupper"));
        ibv_qp_ex.wr_complete(queuePair, libc("toupper"));
        MemorySegment start = ibv_qp_ex.wr_start(queuePair);
        CFunction.at("function", start).call('a');
        CFunction.at("function", start).call('b');
        try {
            ibv_qp_ex.wr_complete(queuePair);
        } catch (AssertionError ambiguous) {
            System.out.println("refused: " + ambiguous.getMessage());
        }
        ibv_qp_ex.wr_abort(queuePair); // a null pointer is no function
    }

    private static void throughContext(Arena arena) {
        MemorySegment extended = arena.allocate(verbs_context.layout());
        MemorySegment context = verbs_context.context(extended);
        ibv_context.abi_compat(context, MemorySegment.ofAddress(-1));
        extended.set(JAVA_LONG, verbs_context.sz$offset(), verbs_context.sizeof());
        verbs_context.alloc_td(extended, libc("tolower"));
        ContextVerb.ALLOC_TD.in(context.address()).call('A');
    }

    private static MemorySegment libc(String function) {
        return Linker.nativeLinker().defaultLookup().find(function).orElseThrow();
    }
}
