package dev.verbena.support;

import dev.verbena.Rdma;
import dev.verbena.verbs.Device;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Checks that there is a test device, and fails the run if a missing device is an error. */
final class DeviceCondition implements ExecutionCondition {
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
