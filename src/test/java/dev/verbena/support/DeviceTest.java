package dev.verbena.support;

import dev.verbena.Rdma;
import dev.verbena.verbs.Device;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Tests that need an RDMA device. Without one they are skipped, or fail with VERBENA_REQUIRE_DEVICE=1. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("device")
@ExtendWith(DeviceTest.Condition.class)
public @interface DeviceTest {
    /** Checks that there is a test device, and fails the run if a missing device is an error. */
    final class Condition implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            if (Rdma.unavailability().isEmpty() && !Device.list().isEmpty()) {
                return ConditionEvaluationResult.enabled("on " + TestDevice.get());
            }
            if ("1".equals(System.getenv("VERBENA_REQUIRE_DEVICE"))) {
                throw new IllegalStateException(
                        "no RDMA device found, although VERBENA_REQUIRE_DEVICE=1",
                        Rdma.unavailability().orElse(null));
            }
            return ConditionEvaluationResult.disabled(
                    "this machine has no RDMA device: scripts/test runs these tests with one");
        }
    }
}
