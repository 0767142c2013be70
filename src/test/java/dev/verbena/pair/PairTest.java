package dev.verbena.pair;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Tests between two machines. {@code scripts/test --pair} runs them in the guest {@code a} of a pair, and {@link
 * PeerDriver} in {@code b}.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("pair")
@ExtendWith(PairTest.Condition.class)
@interface PairTest {
    /** Leaves the tests out where there is no pair. */
    final class Condition implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return "a".equals(System.getenv("VERBENA_SIDE"))
                    ? ConditionEvaluationResult.enabled("in guest a of a pair")
                    : ConditionEvaluationResult.disabled("no pair of guests: scripts/test --pair starts one");
        }
    }
}
