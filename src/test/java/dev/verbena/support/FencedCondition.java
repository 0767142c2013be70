package dev.verbena.support;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Leaves tests out where the provider for tests is not loaded, and fails tests that leave a violation behind. */
final class FencedCondition implements ExecutionCondition, BeforeEachCallback, AfterEachCallback {
    private static final String VIOLATIONS = "violations";

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

    @Override
    public void beforeEach(ExtensionContext context) {
        Fenced.calm();
        context.getStore(ExtensionContext.Namespace.create(FencedCondition.class))
                .put(VIOLATIONS, Fenced.violations());
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Fenced.calm();
        int before = context.getStore(ExtensionContext.Namespace.create(FencedCondition.class))
                .get(VIOLATIONS, Integer.class);
        if (Fenced.violations() != before + Fenced.takeAllowed()) {
            throw new AssertionError(
                    "The provider saw what must never happen, the first time: " + Fenced.firstViolation());
        }
    }
}
