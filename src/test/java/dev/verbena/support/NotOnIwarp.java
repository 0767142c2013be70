package dev.verbena.support;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** A test of what iWARP does not have, left out where the test device is one, with the reason. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NotOnIwarp.Condition.class)
public @interface NotOnIwarp {
    /** What it has not. */
    String value();

    /** Looks at the device. */
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
