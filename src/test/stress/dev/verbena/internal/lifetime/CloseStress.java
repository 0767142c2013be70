package dev.verbena.internal.lifetime;

import dev.verbena.VerbsArena;
import java.util.ArrayList;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Uses of an object beside its close. Nothing but the guard orders the plain accesses of the two threads. */
public final class CloseStress {
    private static final VerbsArena ARENA = VerbsArena.ofShared();

    private CloseStress() {}

    /** An object, and what its user and its destruction do to plain fields. */
    private abstract static class Used {
        static final int REFUSED = 0;
        static final int USED = 1;
        static final int USED_AFTER_DESTRUCTION = 2;

        final GuardedObject object = GuardedObject.in(ARENA, "object", new ArrayList<>(1));
        private boolean destroyed;
        private int written;
        private int seen;

        int use() {
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

    /** The bracket of the data path, with a flag and the fence of all threads. */
    @JCStressTest
    @Description("A call between enter and exit ends before the object is destroyed, which sees all of it.")
    @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The call came first.")
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "The close came first, and the call was refused.")
    @State
    public static class Entered extends Used {
        @Actor
        public void user(II_Result result) {
            try {
                int way = object.lifetime.enter();
                result.r1 = use();
                object.lifetime.exit(way);
            } catch (IllegalStateException closed) {
                result.r1 = REFUSED;
            }
        }

        @Actor
        public void closer(II_Result result) {
            result.r2 = close();
        }
    }

    /** The bracket of all other calls, with a count. */
    @JCStressTest
    @Description("A call between hold and release ends before the object is destroyed, which sees all of it.")
    @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The call came first.")
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "The close came first, and the call was refused.")
    @State
    public static class Held extends Used {
        @Actor
        public void user(II_Result result) {
            try {
                object.lifetime.hold();
                result.r1 = use();
                object.lifetime.release();
            } catch (IllegalStateException closed) {
                result.r1 = REFUSED;
            }
        }

        @Actor
        public void closer(II_Result result) {
            result.r2 = close();
        }
    }
}
