package dev.verbena.support;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * {@linkplain DeviceTest Device tests} that take minutes, or that show with a whole program what smaller tests show each day.
 * {@code scripts/test --slow} runs them, or a name does.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("device")
@Tag("slow")
@ExtendWith(DeviceTest.Condition.class)
public @interface Slow {}
