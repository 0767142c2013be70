package dev.verbena.support;

import dev.verbena.Rdma;
import dev.verbena.verbs.Device;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Decides whether there is a device to test on, and fails the run where there must be one. */
final class DeviceCondition implements ExecutionCondition {
    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        if (Rdma.unavailability().isEmpty() && !Device.list().isEmpty()) {
            return ConditionEvaluationResult.enabled("on " + TestDevice.get());
        }
        if ("1".equals(System.getenv("VERBENA_REQUIRE_DEVICE"))) {
            throw new IllegalStateException(
                    "VERBENA_REQUIRE_DEVICE=1, and there is no RDMA device",
                    Rdma.unavailability().orElse(null));
        }
        return ConditionEvaluationResult.disabled(
                "this machine has no RDMA device: scripts/test runs these tests with one");
    }
}
