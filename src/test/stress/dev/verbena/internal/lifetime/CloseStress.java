package dev.verbena.internal.lifetime;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Barrier;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.NativeLibraries;
import java.util.ArrayList;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Uses of an object beside its close. Nothing but the guard orders the plain accesses of the two threads. jcstress runs each
 * class in JVMs of its own, so a class can choose the way to fence all threads.
 */
public final class CloseStress {
    private static final VerbsArena ARENA = VerbsArena.ofShared();

    private CloseStress() {}

    /** Chooses the way to fence all threads, before anything of the library is used. */
    private static void fenceBySystemCall(boolean wanted) {
        System.setProperty("dev.verbena.membarrier", Boolean.toString(wanted));
        new CFunction(NativeLibraries.C, "getpid").find(); // processes that call C use the system call
        Barrier.prepare();
        if (Barrier.isSystemCall() != wanted) {
            throw new IllegalStateException("membarrier in use must be " + wanted);
        }
    }

    /** An object, and what its user and its destruction do to plain fields. */
    private abstract static class Used {
        private static final int REFUSED = 0;
        private static final int USED = 1;
        private static final int USED_AFTER_DESTRUCTION = 2;

        private final GuardedObject object = GuardedObject.in(ARENA, "object", new ArrayList<>(1));
        private boolean destroyed;
        private int written;
        private int seen;

        /** Uses the object in the bracket of the data path, with a flag and the fence of all threads. */
        int enter() {
            try {
                int way = object.lifetime.enter();
                int result = use();
                object.lifetime.exit(way);
                return result;
            } catch (IllegalStateException closed) {
                return REFUSED;
            }
        }

        /** Uses the object in the bracket of all other calls, with a count. */
        int hold() {
            try {
                object.lifetime.hold();
                int result = use();
                object.lifetime.release();
                return result;
            } catch (IllegalStateException closed) {
                return REFUSED;
            }
        }

        private int use() {
            written = 1;
            return destroyed ? USED_AFTER_DESTRUCTION : USED;
        }

        int close() {
            object.whenDestroyed = () -> {
                seen = written;
                destroyed = true;
            };
            object.close();
            return seen;
        }
    }

    /** The bracket of the data path, with the system call. */
    @JCStressTest
    @Description("A call between enter and exit ends before the object is destroyed, which sees all of it.")
    @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The call came first.")
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "The close came first, and the call was refused.")
    @State
    public static class Entered extends Used {
        static {
            fenceBySystemCall(true);
        }

        @Actor
        public void user(II_Result result) {
            result.r1 = enter();
        }

        @Actor
        public void closer(II_Result result) {
            result.r2 = close();
        }
    }

    /** The bracket of the data path, without the system call. */
    @JCStressTest
    @Description("A call between enter and exit ends before the object is destroyed, which sees all of it.")
    @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The call came first.")
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "The close came first, and the call was refused.")
    @State
    public static class EnteredWithoutMembarrier extends Used {
        static {
            fenceBySystemCall(false);
        }

        @Actor
        public void user(II_Result result) {
            result.r1 = enter();
        }

        @Actor
        public void closer(II_Result result) {
            result.r2 = close();
        }
    }

    /** The bracket of all other calls, with the system call. */
    @JCStressTest
    @Description("A call between hold and release ends before the object is destroyed, which sees all of it.")
    @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The call came first.")
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "The close came first, and the call was refused.")
    @State
    public static class Held extends Used {
        static {
            fenceBySystemCall(true);
        }

        @Actor
        public void user(II_Result result) {
            result.r1 = hold();
        }

        @Actor
        public void closer(II_Result result) {
            result.r2 = close();
        }
    }

    /** The bracket of all other calls, without the system call. */
    @JCStressTest
    @Description("A call between hold and release ends before the object is destroyed, which sees all of it.")
    @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The call came first.")
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "The close came first, and the call was refused.")
    @State
    public static class HeldWithoutMembarrier extends Used {
        static {
            fenceBySystemCall(false);
        }

        @Actor
        public void user(II_Result result) {
            result.r1 = hold();
        }

        @Actor
        public void closer(II_Result result) {
            result.r2 = close();
        }
    }
}
