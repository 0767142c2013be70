package dev.verbena.support;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests that need an RDMA device. Without one they are skipped, or fail with VERBENA_REQUIRE_DEVICE=1. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("device")
@ExtendWith(DeviceCondition.class)
public @interface DeviceTest {}
