package dev.verbena.support;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** Tests that connect by address only, and so also run on an iWARP device ({@code scripts/test --siw}). */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("iwarp")
public @interface IwarpToo {

    /** A test of a feature that iWARP lacks, skipped on an iWARP device with a reason. */
    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    @ExtendWith(NotOnIwarp.Condition.class)
    @interface NotOnIwarp {
        /** Returns the reason. */
        String value();

        /** Skips the test on an iWARP device. */
        final class Condition implements ExecutionCondition {
            @Override
            public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
                if (!TestDevice.isIwarp()) {
                    return ConditionEvaluationResult.enabled("no iWARP");
                }
                NotOnIwarp why = AnnotationSupport.findAnnotation(context.getElement(), NotOnIwarp.class)
                        .orElseThrow();
                return ConditionEvaluationResult.disabled("iWARP: " + why.value());
            }
        }
    }
}
