package dev.verbena.support;

import dev.verbena.verbs.Device;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.opentest4j.TestAbortedException;

/**
 * Tests on the provider for tests (src/test/c/fenced.c), which needs neither a device nor a guest. {@code scripts/test}
 * runs them in a JVM of their own. Every test fails that leaves a violation behind: memory freed while it was registered,
 * or events that nobody acknowledges.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("fenced")
@ExtendWith({FencedTest.Condition.class, FencedTest.DriverRefusals.class})
public @interface FencedTest {
    /**
     * Leaves tests out where the provider for tests is not loaded, and fails tests that leave a violation behind, and
     * classes that leave objects in C behind.
     */
    final class Condition
            implements ExecutionCondition, BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback {
        private static final String VIOLATIONS = "violations";
        private static final String OBJECTS = "objects";

        static {
            if (Fenced.isLoaded()) {
                // The provider is the connection manager too. It is opened when it is first used, which is after this.
                System.setProperty("dev.verbena.librdmacm", System.getProperty("dev.verbena.libibverbs"));
            }
        }

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return Fenced.isLoaded()
                    ? ConditionEvaluationResult.enabled("on the provider for tests")
                    : ConditionEvaluationResult.disabled("the provider for tests is not loaded: scripts/test loads it");
        }

        private static ExtensionContext.Store store(ExtensionContext context) {
            return context.getStore(ExtensionContext.Namespace.create(Condition.class));
        }

        @Override
        public void beforeAll(ExtensionContext context) {
            store(context).put(OBJECTS, Fenced.liveObjects());
            store(context).put(VIOLATIONS, new AtomicInteger(Fenced.violations()));
        }

        @Override
        public void beforeEach(ExtensionContext context) {
            Fenced.calm();
            check(context, " when the test before was closed");
        }

        @Override
        public void afterEach(ExtensionContext context) {
            Fenced.calm();
            check(context, "");
        }

        /** Fields with {@code @AutoClose} are closed after {@link #afterEach}. */
        private static void check(ExtensionContext context, String when) {
            AtomicInteger known = store(context).get(VIOLATIONS, AtomicInteger.class);
            int now = Fenced.violations();
            if (now != known.getAndSet(now) + Fenced.takeAllowed()) {
                throw new AssertionError("The provider saw what must never happen" + when + ", the first time: "
                        + Fenced.firstViolation());
            }
        }

        /** Objects that are left would make tests of other classes fail, which have nothing to do with them. */
        @Override
        public void afterAll(ExtensionContext context) {
            check(context, " when the last test was closed");
            int before = store(context).get(OBJECTS, Integer.class);
            try {
                Await.until("objects of the tests are closed", () -> Fenced.liveObjects() <= before);
            } catch (AssertionError left) {
                throw new AssertionError("Tests of "
                        + context.getRequiredTestClass().getName() + " left objects in C: " + Fenced.left());
            }
        }
    }

    /**
     * Leaves tests out that meet a refusal of the driver for which the provider for tests stands, in a run with
     * {@code VERBENA_DRIVER}. The refusal has to be one of {@link Device#limits}, which name the driver and say what to take
     * instead: a test that fails for another reason fails there too.
     */
    final class DriverRefusals implements InvocationInterceptor {
        private static final boolean CHOSEN = System.getenv("VERBENA_DRIVER") != null;

        /** The reason of nodes, which have no atomics over iWARP at all, whatever the driver has. */
        private static final String NODES_OVER_IWARP = "iWARP has no atomics";

        /** The refusals of the driver, which is asked before the first test can choose another one. */
        private static final List<String> REASONS = CHOSEN && Fenced.isLoaded() ? reasons() : List.of();

        private static List<String> reasons() {
            List<String> all = new ArrayList<>(Device.first().limits());
            if (!all.isEmpty()) {
                all.add(NODES_OVER_IWARP);
            }
            return all;
        }

        private static ExtensionContext.Store store(ExtensionContext test) {
            return test.getStore(ExtensionContext.Namespace.create(DriverRefusals.class));
        }

        private static <T> T proceed(Invocation<T> invocation, ExtensionContext test) throws Throwable {
            try {
                return invocation.proceed();
            } catch (Throwable failure) {
                String reason = find(failure, Collections.newSetFromMap(new IdentityHashMap<>()));
                if (reason == null) {
                    throw failure;
                }
                store(test).put(DriverRefusals.class, reason);
                throw new TestAbortedException("refused: " + reason, failure);
            }
        }

        /** Returns the refusal in a failure, its causes, or what was suppressed for it; null if there is none. */
        private static @Nullable String find(@Nullable Throwable failure, Set<Throwable> seen) {
            if (failure == null || !seen.add(failure)) {
                return null;
            }
            String message = String.valueOf(failure.getMessage());
            for (String reason : REASONS) {
                if (message.contains(reason)) {
                    return reason;
                }
            }
            String found = find(failure.getCause(), seen);
            for (Throwable suppressed : failure.getSuppressed()) {
                found = found == null ? find(suppressed, seen) : found;
            }
            return found;
        }

        @Override
        public <T> T interceptTestClassConstructor(
                Invocation<T> invocation, ReflectiveInvocationContext<Constructor<T>> called, ExtensionContext test)
                throws Throwable {
            return proceed(invocation, test);
        }

        @Override
        public void interceptBeforeAllMethod(
                Invocation<Void> invocation, ReflectiveInvocationContext<Method> called, ExtensionContext test)
                throws Throwable {
            proceed(invocation, test);
        }

        @Override
        public void interceptBeforeEachMethod(
                Invocation<Void> invocation, ReflectiveInvocationContext<Method> called, ExtensionContext test)
                throws Throwable {
            proceed(invocation, test);
        }

        @Override
        public void interceptTestMethod(
                Invocation<Void> invocation, ReflectiveInvocationContext<Method> called, ExtensionContext test)
                throws Throwable {
            proceed(invocation, test);
        }

        @Override
        public void interceptTestTemplateMethod(
                Invocation<Void> invocation, ReflectiveInvocationContext<Method> called, ExtensionContext test)
                throws Throwable {
            proceed(invocation, test);
        }

        /** Closes what a test has opened. A test that was refused at its beginning has opened less. */
        @Override
        public void interceptAfterEachMethod(
                Invocation<Void> invocation, ReflectiveInvocationContext<Method> called, ExtensionContext test)
                throws Throwable {
            try {
                proceed(invocation, test);
            } catch (RuntimeException | AssertionError failure) {
                if (store(test).get(DriverRefusals.class) == null) {
                    throw failure;
                }
            }
        }
    }
}
