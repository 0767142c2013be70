package dev.verbena.support;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Tests on the provider for tests (src/test/c/fenced.c), which needs neither a device nor a guest. {@code scripts/test}
 * runs them in a JVM of their own. Every test fails that leaves a violation behind: memory freed while it was registered,
 * or events that nobody acknowledges.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("fenced")
@ExtendWith({FencedTest.Condition.class, DriverRefusals.class})
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
        }

        @Override
        public void beforeEach(ExtensionContext context) {
            Fenced.calm();
            store(context).put(VIOLATIONS, Fenced.violations());
        }

        @Override
        public void afterEach(ExtensionContext context) {
            Fenced.calm();
            int before = store(context).get(VIOLATIONS, Integer.class);
            if (Fenced.violations() != before + Fenced.takeAllowed()) {
                throw new AssertionError(
                        "The provider saw what must never happen, the first time: " + Fenced.firstViolation());
            }
        }

        /** Objects that are left would make tests of other classes fail, which have nothing to do with them. */
        @Override
        public void afterAll(ExtensionContext context) {
            int before = store(context).get(OBJECTS, Integer.class);
            try {
                Await.until("objects of the tests are closed", () -> Fenced.liveObjects() <= before);
            } catch (AssertionError left) {
                throw new AssertionError("Tests of "
                        + context.getRequiredTestClass().getName() + " left objects in C: " + Fenced.left());
            }
        }
    }
}
